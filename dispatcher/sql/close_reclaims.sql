-- Closes orders whose leases are gone, with what became of the attempts. Days before the order are not looked at.
WITH over AS (
    SELECT r.job_id, r.attempt, r.nonce, r.ordered_at
    FROM reclaims r
    WHERE r.closed_at IS NULL AND NOT EXISTS (SELECT FROM leases l WHERE l.job_id = r.job_id AND l.nonce = r.nonce)
    LIMIT @n::int
), ended AS (
    SELECT o.job_id, o.attempt, a.outcome, a.said, a.units, a.claimed_at, a.ended_at
    FROM over o
    LEFT JOIN attempts a ON a.job_id = o.job_id AND a.attempt = o.attempt AND a.nonce = o.nonce
        AND a.ended_at > o.ordered_at - interval '1 minute'
)
UPDATE reclaims r SET closed_at = now(), outcome = e.outcome, said = e.said,
    lost = CASE WHEN e.outcome = 'revoked' THEN e.units / 1000.0 * extract(epoch FROM e.ended_at - e.claimed_at) END
FROM ended e
WHERE r.job_id = e.job_id AND r.attempt = e.attempt AND r.closed_at IS NULL
RETURNING coalesce(r.outcome, 'unknown') AS outcome, coalesce(r.said, '') AS said, coalesce(r.lost, 0) AS lost;
