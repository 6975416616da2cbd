-- Leases that ran out, whoever granted them. There is no index on the time: renewals would pay for it.
SELECT job_id, attempt, nonce, 0::float8 AS left_s, greatest(0::float8, ttl_s + extract(epoch FROM now() - expires_at)::float8) AS age_s
FROM leases WHERE expires_at <= now() LIMIT @n::int;
