-- How long jobs of each share waited from submission to their first claim, by whole hours. half_within and most_within: the bound of the span
-- in which half, and 95 of 100, of them were claimed.
WITH spans AS (
    SELECT share, from_seconds, to_seconds, sum(jobs) AS jobs, sum(wait_seconds) AS wait_seconds
    FROM report.waits
    WHERE hour >= date_trunc('hour', @since::timestamptz, 'UTC')
    GROUP BY share, from_seconds, to_seconds
), sums AS (
    SELECT *, sum(jobs) OVER (PARTITION BY share ORDER BY from_seconds) AS upto, sum(jobs) OVER (PARTITION BY share) AS total
    FROM spans
)
SELECT share, sum(jobs)::bigint AS jobs, round(sum(wait_seconds) / sum(jobs), 1) AS mean_seconds,
    min(to_seconds) FILTER (WHERE upto >= 0.5 * total) AS half_within_seconds,
    min(to_seconds) FILTER (WHERE upto >= 0.95 * total) AS most_within_seconds
FROM sums
GROUP BY share
ORDER BY share;
