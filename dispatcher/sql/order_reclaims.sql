-- Orders running attempts to give their units back; their pilots hear it at the next renewal. Leases that somebody is
-- at, that have ended, or that are to end already, are left out: nobody waits here.
WITH wanted AS (
    SELECT *
    FROM unnest(@jobs::bigint[], @nonces::bigint[], @pools::text[], @claimers::int[], @plans::int[], @graces::int[])
        AS w (job_id, nonce, pool, claimer_id, plan_id, grace_s)
), locked AS (
    SELECT l.job_id
    FROM leases l JOIN wanted w ON w.job_id = l.job_id AND w.nonce = l.nonce
    WHERE l.job_id = ANY (@jobs::bigint[]) AND l.cancel_reason IS NULL AND l.reclaim_grace_s IS NULL AND l.state <> 'draining'
    ORDER BY l.job_id
    FOR UPDATE OF l SKIP LOCKED
), ordered AS (
    UPDATE leases l SET reclaim_grace_s = w.grace_s
    FROM wanted w JOIN locked k ON k.job_id = w.job_id
    WHERE l.job_id = w.job_id
    RETURNING l.job_id, l.attempt, l.nonce, w.pool, w.claimer_id, l.share_id, w.plan_id, l.units, w.grace_s
)
INSERT INTO reclaims (job_id, attempt, nonce, pool, claimer_id, victim_id, plan_id, units, grace_s)
SELECT job_id, attempt, nonce, pool, claimer_id, share_id, plan_id, units, grace_s FROM ordered
RETURNING job_id;
