-- Charges running attempts of one share to another, and notes up to when the old one was charged. Rows that end at this
-- moment are waited for and then gone.
WITH moved AS (
    UPDATE leases SET share_id = @to::int WHERE share_id = @from::int
    RETURNING job_id, attempt, nonce, claimed_at, task_id, shape_id, queue_id, units
), charged AS (
    INSERT INTO lease_pieces (job_id, attempt, nonce, share_id, since, until)
    SELECT m.job_id, m.attempt, m.nonce, @from::int, s.since, greatest(s.since, clock_timestamp())
    FROM moved m
    CROSS JOIN LATERAL (
        SELECT coalesce(max(p.until), m.claimed_at) AS since FROM lease_pieces p
        WHERE p.job_id = m.job_id AND p.attempt = m.attempt AND p.nonce = m.nonce
    ) s
    ON CONFLICT DO NOTHING -- a piece without length, when the clock was set back
)
SELECT task_id, shape_id, queue_id, count(*)::int AS n, sum(units)::bigint AS units
FROM moved GROUP BY task_id, shape_id, queue_id;
