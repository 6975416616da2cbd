-- How fast attempts ended lately by queue and share, and with them what they held.
SELECT queue, share, count(*) / @within_s::float8 AS per_second, sum(units)::float8 / @within_s::float8 AS units_per_s
FROM history WHERE ended_at > now() - make_interval(secs => @within_s::float8)
GROUP BY queue, share;
