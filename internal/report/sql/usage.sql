-- What each share used, by whole hours.
SELECT share, round(sum(slot_seconds) / 3600, 2) AS slot_hours, round(sum(unit_seconds) / 3600, 2) AS unit_hours, sum(jobs)::bigint AS jobs,
    sum(failures)::bigint AS failures, sum(lost)::bigint AS lost,
    round(100 * sum(wasted_slot_seconds) / nullif(sum(slot_seconds), 0), 1) AS wasted_percent,
    round(100 * sum(cpu_seconds) / nullif(sum(slot_seconds), 0), 1) AS cpu_percent
FROM report.usage_hourly
WHERE hour >= date_trunc('hour', @since::timestamptz, 'UTC')
GROUP BY share
ORDER BY unit_hours DESC, share;
