-- What pilots said of attempts that ended, and reported of those that run, whose end is NULL. Without what payloads reported of themselves, once
-- they ended: it may be large, and metadata reads it.
SELECT k.job AS job_id, t.message, t.outputs, t.report
FROM unnest(@jobs::bigint[], @attempts::int[], @ends::timestamptz[]) AS k (job, attempt, ended_at)
CROSS JOIN LATERAL (
    (SELECT coalesce(x.reason, '') AS message, x.outputs, x.report FROM attempt_texts x
    WHERE x.job_id = k.job AND x.attempt = k.attempt AND x.ended_on = (k.ended_at AT TIME ZONE 'UTC')::date LIMIT 1)
    UNION ALL
    (SELECT '', NULL, x.report FROM lease_reports x WHERE x.job_id = k.job AND x.attempt = k.attempt AND k.ended_at IS NULL LIMIT 1)
) t;
