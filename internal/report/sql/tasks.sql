-- The hundred tasks that used most, by whole days.
SELECT task_id, name, user_name AS user, share, round(sum(slot_seconds) / 3600, 2) AS slot_hours, round(sum(unit_seconds) / 3600, 2) AS unit_hours,
    sum(jobs)::bigint AS jobs, sum(failures)::bigint AS failures, sum(lost)::bigint AS lost
FROM report.task_usage
WHERE day >= (@since::timestamptz AT TIME ZONE 'UTC')::date
GROUP BY task_id, name, user_name, share
ORDER BY unit_hours DESC, task_id, share
LIMIT 100;
