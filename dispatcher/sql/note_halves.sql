-- Adds to what was made of attempts; those of a job ended after it was made, which is all that ends says.
UPDATE attempts a SET judged = concat_ws(': ', a.judged, n.judged)
FROM unnest(@jobs::bigint[], @attempts::int[], @ends::timestamptz[], @words::text[]) AS n (job_id, attempt, since, judged)
WHERE a.job_id = ANY (@jobs::bigint[]) AND a.job_id = n.job_id AND a.attempt = n.attempt AND a.ended_at >= n.since AND a.ended_at >= @since::timestamptz;
