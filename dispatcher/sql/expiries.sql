-- When leases run out, by the database's clock.
SELECT job_id, attempt, nonce, extract(epoch FROM expires_at - now())::float8 AS left_s
FROM leases WHERE job_id = ANY (@jobs::bigint[]);
