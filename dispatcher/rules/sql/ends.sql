-- How many attempts ended lately by queue and share, and what they held.
SELECT queue, share, count(*)::bigint AS n, sum(units)::bigint AS units
FROM history WHERE ended_at > now() - make_interval(secs => @within_s::float8)
GROUP BY queue, share;
