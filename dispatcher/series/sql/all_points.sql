-- How a share stood in the last so many seconds: all samples.
SELECT at, target, held / 1000.0::float8 AS held, ready
FROM share_samples
WHERE share_id = @share::int AND pool = @pool::text AND at > now() - make_interval(secs => @span_s::float8)
ORDER BY at;
