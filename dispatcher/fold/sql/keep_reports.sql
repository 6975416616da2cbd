-- What was reported of attempts that ended, while they ran, goes below what was said of them at the end. Nearly none has such a report.
WITH gone AS (
    DELETE FROM lease_reports r
    USING unnest(@job::bigint[], @attempt::int[], @ended_at::timestamptz[]) AS e (job, attempt, at)
    WHERE r.job_id = ANY (@job::bigint[]) AND r.job_id = e.job AND r.attempt = e.attempt
    RETURNING r.job_id, r.attempt, r.report, e.at
)
INSERT INTO attempt_texts AS t (job_id, attempt, ended_on, report)
SELECT g.job_id, g.attempt, (g.at AT TIME ZONE 'UTC')::date, g.report FROM gone g
ON CONFLICT (job_id, attempt, ended_on) DO UPDATE SET report = divvy_merge_reports(excluded.report, t.report);
