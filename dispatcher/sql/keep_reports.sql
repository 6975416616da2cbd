-- What renewals reported, over what was reported before of the same attempt. The first attempt of a job that is newer begins anew.
INSERT INTO lease_reports AS r (job_id, attempt, report)
SELECT s.job, s.attempt, s.report
FROM unnest(@jobs::bigint[], @attempts::int[], @reports::jsonb[]) AS s (job, attempt, report)
ORDER BY s.job
ON CONFLICT (job_id) DO UPDATE SET attempt = excluded.attempt, said_at = now(),
    report = CASE WHEN r.attempt = excluded.attempt THEN divvy_merge_reports(r.report, excluded.report) ELSE excluded.report END
WHERE r.attempt <= excluded.attempt;
