-- Second halves of pieces. That of a half is a part of the same piece, and that one has been over if this one had.
INSERT INTO halves (task_id, idx, piece, again, job_id)
SELECT h.task_id, h.idx, coalesce(p.piece, h.of), h.again OR coalesce(p.again, false), h.job_id
FROM unnest(@tasks::bigint[], @indexes::bigint[], @of::bigint[], @again::boolean[], @jobs::bigint[]) AS h (task_id, idx, of, again, job_id)
LEFT JOIN halves p ON p.task_id = h.task_id AND p.idx = h.of;
