-- What each user used, by whole hours.
WITH used AS (
    -- The rest of the first day by the hour, whole days by the day: fewer rows.
    SELECT user_name, slot_seconds, unit_seconds, jobs, failures, lost, wasted_slot_seconds
    FROM report.usage_hourly
    WHERE hour >= date_trunc('hour', @since::timestamptz, 'UTC')
        AND hour < ((@since::timestamptz AT TIME ZONE 'UTC')::date + 1)::timestamp AT TIME ZONE 'UTC'
    UNION ALL
    SELECT user_name, slot_seconds, unit_seconds, jobs, failures, lost, wasted_slot_seconds
    FROM report.usage_daily
    WHERE day > (@since::timestamptz AT TIME ZONE 'UTC')::date
)
SELECT user_name AS user, round(sum(slot_seconds) / 3600, 2) AS slot_hours, round(sum(unit_seconds) / 3600, 2) AS unit_hours, sum(jobs)::bigint AS jobs,
    round(100.0 * sum(failures + lost) / nullif(sum(jobs), 0), 1) AS bad_percent,
    round(100 * sum(wasted_slot_seconds) / nullif(sum(slot_seconds), 0), 1) AS wasted_percent
FROM used
GROUP BY user_name
ORDER BY unit_hours DESC, user_name;
