-- Target and held over time, in seconds from the start of the window, for the plot.
SELECT share, extract(epoch FROM at - @since::timestamptz)::float8 AS t, target_units::float8 AS target, held_units::float8 AS held
FROM report.share_history
WHERE share = ANY (@shares::text[]) AND pool = @pool::text
    AND at >= @since::timestamptz - interval '1 second' AND at <= @until::timestamptz
ORDER BY share, at
