-- What each share used, by whole hours.
WITH used AS (
    -- The rest of the first day by the hour, whole days by the day: fewer rows.
    SELECT share, slot_seconds, unit_seconds, jobs, failures, lost, wasted_slot_seconds, cpu_seconds
    FROM report.usage_hourly
    WHERE hour >= date_trunc('hour', @since::timestamptz, 'UTC')
        AND hour < ((@since::timestamptz AT TIME ZONE 'UTC')::date + 1)::timestamp AT TIME ZONE 'UTC'
    UNION ALL
    SELECT share, slot_seconds, unit_seconds, jobs, failures, lost, wasted_slot_seconds, cpu_seconds
    FROM report.usage_daily
    WHERE day > (@since::timestamptz AT TIME ZONE 'UTC')::date
)
SELECT share, round(sum(slot_seconds) / 3600, 2) AS slot_hours, round(sum(unit_seconds) / 3600, 2) AS unit_hours, sum(jobs)::bigint AS jobs,
    sum(failures)::bigint AS failures, sum(lost)::bigint AS lost,
    round(100 * sum(wasted_slot_seconds) / nullif(sum(slot_seconds), 0), 1) AS wasted_percent,
    round(100 * sum(cpu_seconds) / nullif(sum(slot_seconds), 0), 1) AS cpu_percent
FROM used
GROUP BY share
ORDER BY unit_hours DESC, share;
