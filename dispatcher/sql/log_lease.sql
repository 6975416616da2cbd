-- The moment since which an attempt has ended lately; and the lease of an attempt, nulls where it has none.
SELECT now() - make_interval(secs => @late_s::float8) AS since, l.nonce, l.claimed_at
FROM (VALUES (@job::bigint, @attempt::int)) AS a (job_id, attempt)
LEFT JOIN leases l USING (job_id, attempt);
