-- The integral of each share's target over the window. A sample holds until the next one.
WITH steps AS (
    SELECT share, target_units, at, lead(at, 1, 'infinity') OVER (PARTITION BY share ORDER BY at) AS next
    FROM report.share_history
    WHERE share = ANY (@shares::text[]) AND pool = @pool::text
)
SELECT share,
    sum(target_units * extract(epoch FROM least(next, @until::timestamptz) - greatest(at, @since::timestamptz)))::float8 AS promised
FROM steps
WHERE next > @since::timestamptz AND at < @until::timestamptz
GROUP BY share
