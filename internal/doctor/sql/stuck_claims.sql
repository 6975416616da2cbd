-- Claims that were to be looked at more than five minutes ago, and were not; up to a thousand.
SELECT count(*) AS n, coalesce(max(late_s), 0)::float8 AS late_s
FROM (SELECT extract(epoch FROM now() - tend_at) AS late_s FROM resource_claims WHERE tend_at < now() - interval '5 minutes' LIMIT 1000) x;
