-- How long jobs of each user waited from submission to their first claim, by whole hours. half_within and most_within: the bound of the span
-- in which half, and 95 of 100, of them were claimed.
WITH spans AS (
    SELECT user_name, from_seconds, to_seconds, sum(jobs) AS jobs, sum(wait_seconds) AS wait_seconds
    FROM report.user_waits
    WHERE @by::text = 'user' AND hour >= date_trunc('hour', @since::timestamptz, 'UTC')
    GROUP BY user_name, from_seconds, to_seconds
), sums AS (
    SELECT *, sum(jobs) OVER (PARTITION BY user_name ORDER BY from_seconds) AS upto, sum(jobs) OVER (PARTITION BY user_name) AS total
    FROM spans
)
SELECT user_name AS by, sum(jobs)::bigint AS jobs, round(sum(wait_seconds) / sum(jobs), 1) AS mean_seconds,
    min(to_seconds) FILTER (WHERE upto >= 0.5 * total) AS half_within_seconds,
    min(to_seconds) FILTER (WHERE upto >= 0.95 * total) AS most_within_seconds
FROM sums
GROUP BY user_name
ORDER BY max(total) DESC, user_name;
