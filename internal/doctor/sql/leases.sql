-- Leases that ran out more than a minute ago and are still there, up to a thousand; by no index, as the daemons look for them.
SELECT count(*) AS n, coalesce(max(late_s), 0)::float8 AS late_s
FROM (SELECT extract(epoch FROM now() - expires_at) AS late_s FROM leases WHERE expires_at < now() - interval '1 minute' LIMIT 1000) x;
