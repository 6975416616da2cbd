-- What each share used day by day.
SELECT day, share, round(sum(slot_seconds) / 3600, 2) AS slot_hours, round(sum(unit_seconds) / 3600, 2) AS unit_hours, sum(jobs)::bigint AS jobs,
    sum(failures)::bigint AS failures, sum(lost)::bigint AS lost
FROM report.usage_daily
WHERE day >= (@since::timestamptz AT TIME ZONE 'UTC')::date
GROUP BY day, share
ORDER BY day, share;
