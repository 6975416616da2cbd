-- Target and held over time, in seconds from the start of the window. The last sample before it holds at its start.
SELECT share, extract(epoch FROM at - @since::timestamptz)::float8 AS t, target_units::float8 AS target, held_units::float8 AS held
FROM report.share_history
WHERE share = ANY (@shares::text[]) AND pool = @pool::text AND at <= @until::timestamptz
ORDER BY at, share
