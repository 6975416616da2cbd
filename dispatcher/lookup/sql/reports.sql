-- What pilots reported of attempts that run.
SELECT r.job_id, r.attempt, r.report
FROM unnest(@jobs::bigint[], @attempts::int[]) AS k (job, attempt)
CROSS JOIN LATERAL (SELECT x.* FROM lease_reports x WHERE x.job_id = k.job AND x.attempt = k.attempt LIMIT 1) r;
