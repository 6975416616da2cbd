-- What each queue holds now, and what was used there, by whole hours.
WITH pieces AS (
    -- The rest of the first day by the hour, whole days by the day: fewer rows.
    SELECT queue, slot_seconds, wasted_slot_seconds, jobs, failures, lost
    FROM report.usage_hourly
    WHERE hour >= date_trunc('hour', @since::timestamptz, 'UTC')
        AND hour < ((@since::timestamptz AT TIME ZONE 'UTC')::date + 1)::timestamp AT TIME ZONE 'UTC'
    UNION ALL
    SELECT queue, slot_seconds, wasted_slot_seconds, jobs, failures, lost
    FROM report.usage_daily
    WHERE day > (@since::timestamptz AT TIME ZONE 'UTC')::date
), used AS (
    SELECT queue, sum(slot_seconds) AS slot_seconds, sum(wasted_slot_seconds) AS wasted, sum(jobs)::bigint AS jobs, sum(failures + lost)::bigint AS bad
    FROM pieces
    GROUP BY queue
)
SELECT h.queue, h.state, h.slots, h.held_cores, h.has_pilots, h.black_hole_since, round(coalesce(u.slot_seconds, 0) / 3600, 2) AS slot_hours,
    coalesce(u.jobs, 0) AS jobs, round(100.0 * u.bad / nullif(u.jobs, 0), 1) AS bad_percent,
    round(100 * u.wasted / nullif(u.slot_seconds, 0), 1) AS wasted_percent
FROM report.queue_health h
LEFT JOIN used u ON u.queue = h.queue
ORDER BY h.queue;
