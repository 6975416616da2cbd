-- What renewals reported, over what was reported before. The leases cannot end meanwhile: their ends wait, and see that
-- they have a row here.
WITH said AS (
    SELECT * FROM unnest(@jobs::bigint[], @attempts::int[], @nonces::bigint[], @reports::jsonb[]) AS s (job_id, attempt, nonce, report)
), held AS (
    SELECT l.job_id, l.attempt, s.report
    FROM leases l JOIN said s ON s.job_id = l.job_id AND s.attempt = l.attempt AND s.nonce = l.nonce
    WHERE l.job_id = ANY (@jobs::bigint[])
    FOR KEY SHARE OF l
), noted AS (
    UPDATE leases l SET reported = true
    FROM held h
    WHERE l.job_id = ANY (@jobs::bigint[]) AND l.job_id = h.job_id AND l.reported IS NULL
)
INSERT INTO lease_reports AS r (job_id, attempt, report)
SELECT job_id, attempt, report FROM held
ON CONFLICT (job_id) DO UPDATE SET attempt = excluded.attempt,
    report = CASE WHEN r.attempt = excluded.attempt THEN divvy_merge_reports(r.report, excluded.report) ELSE excluded.report END;
