-- What the attempts that finished jobs reported to have made. They ended when their jobs did: only those days are looked at.
SELECT x.job_id, x.outputs
FROM unnest(@jobs::bigint[], @attempts::int[]) AS e (job_id, attempt)
JOIN attempt_texts x ON x.job_id = e.job_id AND x.attempt = e.attempt
WHERE x.outputs IS NOT NULL AND x.ended_on BETWEEN @low::date AND @high::date;
