-- When leases run out, by the database's clock, and how long ago they were last renewed, or granted.
SELECT job_id, attempt, nonce, extract(epoch FROM expires_at - now())::float8 AS left_s,
    greatest(0::float8, ttl_s + extract(epoch FROM now() - expires_at)::float8) AS age_s
FROM leases WHERE job_id = ANY (@jobs::bigint[]);
