-- What pilots said of attempts that ended, without what payloads reported of themselves: it may be large, and metadata reads it.
SELECT t.job_id, t.attempt, coalesce(t.reason, '') AS message, t.outputs, t.report
FROM unnest(@jobs::bigint[], @attempts::int[], @ends::timestamptz[]) AS k (job, attempt, ended_at)
CROSS JOIN LATERAL (
    SELECT x.* FROM attempt_texts x WHERE x.job_id = k.job AND x.attempt = k.attempt AND x.ended_on = (k.ended_at AT TIME ZONE 'UTC')::date LIMIT 1
) t;
