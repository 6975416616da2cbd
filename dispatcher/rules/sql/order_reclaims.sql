-- Writes orders down. One that is there already, or whose lease has ended, is not given.
INSERT INTO reclaims (job_id, attempt, nonce, pool, claimer_id, victim_id, plan_id, units, grace_s)
SELECT l.job, l.attempt, l.nonce, w.pool, w.claimer, l.share, w.plan, l.units, w.grace_s
FROM unnest(@jobs::bigint[], @nonces::bigint[], @pools::text[], @claimers::int[], @plans::int[], @graces::int[])
    AS w (job, nonce, pool, claimer, plan, grace_s)
JOIN held l ON l.job = w.job AND l.nonce = w.nonce
ON CONFLICT (job_id, attempt) DO NOTHING
RETURNING job_id, attempt, grace_s;
