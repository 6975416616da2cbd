-- Days that have rows in a default partition, and how many: of those that have been over for an hour.
SELECT 'attempts' AS name, (ended_at AT TIME ZONE 'UTC')::date AS day, count(*) AS n FROM attempts_rest
WHERE ended_at < ((now() - interval '1 hour') AT TIME ZONE 'UTC')::date::timestamp AT TIME ZONE 'UTC' GROUP BY 2
UNION ALL
SELECT 'ended_jobs', (ended_at AT TIME ZONE 'UTC')::date, count(*) FROM ended_jobs_rest
WHERE ended_at < ((now() - interval '1 hour') AT TIME ZONE 'UTC')::date::timestamp AT TIME ZONE 'UTC' GROUP BY 2
UNION ALL
SELECT 'share_samples', (at AT TIME ZONE 'UTC')::date, count(*) FROM share_samples_rest
WHERE at < ((now() - interval '1 hour') AT TIME ZONE 'UTC')::date::timestamp AT TIME ZONE 'UTC' GROUP BY 2
ORDER BY 1, 2;
