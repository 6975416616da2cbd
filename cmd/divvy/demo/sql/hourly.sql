-- What accounting says each share used, all in all; the same sum as over its attempts.
SELECT share, sum(slot_seconds)::float8 AS slot_seconds, sum(jobs)::bigint AS jobs
FROM report.usage_hourly
WHERE share = ANY (@shares::text[])
GROUP BY share
