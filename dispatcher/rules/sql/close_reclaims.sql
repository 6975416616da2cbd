-- Closes orders whose leases are gone, with what became of the attempts; while the tables know nothing of one it may be on its way to them.
-- Days before the order are not looked at.
WITH over AS (
    SELECT r.job_id, r.attempt, r.nonce, r.ordered_at
    FROM reclaims r
    WHERE r.closed_at IS NULL AND NOT EXISTS (SELECT FROM held l WHERE l.job = r.job_id AND l.nonce = r.nonce)
    LIMIT @n::int
), ended AS (
    SELECT o.job_id, o.attempt, h.outcome, h.units, h.granted_at, h.ended_at
    FROM over o
    LEFT JOIN history h ON h.job = o.job_id AND h.attempt = o.attempt AND h.nonce = o.nonce AND h.ended_at > o.ordered_at - interval '1 minute'
    WHERE h.job IS NOT NULL OR o.ordered_at < now() - interval '1 day'
)
UPDATE reclaims r SET closed_at = now(),
    outcome = CASE e.outcome WHEN 'f' THEN 'finished' WHEN 'x' THEN 'failed' WHEN 'l' THEN 'lost' WHEN 'c' THEN 'cancelled' WHEN 'r' THEN 'revoked' END,
    lost = CASE WHEN e.outcome = 'r' THEN greatest(0, e.units / 1000.0 * extract(epoch FROM e.ended_at - e.granted_at)) END
FROM ended e
WHERE r.job_id = e.job_id AND r.attempt = e.attempt AND r.closed_at IS NULL
RETURNING r.job_id AS job, r.attempt, r.nonce, coalesce(e.outcome::text, '') AS outcome, coalesce(r.lost, 0) AS lost;
