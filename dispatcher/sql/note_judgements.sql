-- Notes what was made of attempts.
UPDATE attempts a SET judged = n.judged
FROM unnest(@jobs::bigint[], @attempts::int[], @ends::timestamptz[], @words::text[]) AS n (job_id, attempt, ended_at, judged)
WHERE a.job_id = ANY (@jobs::bigint[]) AND a.job_id = n.job_id AND a.attempt = n.attempt AND a.ended_at = n.ended_at AND a.ended_at >= @since::timestamptz;
