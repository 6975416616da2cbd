-- Other numbers of pieces for locked tasks, as cutting some has shown. What scouts are made of stays within their number.
UPDATE tasks t SET n_pieces = t.n_pieces + r.more,
    n_jobs = CASE WHEN t.scouts IS NOT NULL AND t.scouted IS NULL THEN least(t.n_pieces + r.more, t.scouts) ELSE t.n_jobs + r.more END
FROM unnest(@tasks::bigint[], @more::bigint[]) AS r (id, more)
WHERE t.id = r.id;
