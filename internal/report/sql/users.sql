-- What each user used, by whole hours.
SELECT user_name AS user, round(sum(slot_seconds) / 3600, 2) AS slot_hours, round(sum(unit_seconds) / 3600, 2) AS unit_hours, sum(jobs)::bigint AS jobs,
    round(100.0 * sum(failures + lost) / nullif(sum(jobs), 0), 1) AS bad_percent,
    round(100 * sum(wasted_slot_seconds) / nullif(sum(slot_seconds), 0), 1) AS wasted_percent
FROM report.usage_hourly
WHERE hour >= date_trunc('hour', @since::timestamptz, 'UTC')
GROUP BY user_name
ORDER BY unit_hours DESC, user_name;
