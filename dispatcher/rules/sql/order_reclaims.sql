-- Writes orders down. One that is there already is not given.
INSERT INTO reclaims (job_id, attempt, nonce, units, claimer_id, victim_id, plan_id, grace_s, pool)
SELECT * FROM unnest(@jobs::bigint[], @attempts::int[], @nonces::bigint[], @units::bigint[], @claimers::int[], @victims::int[], @plans::int[],
    @graces::int[], @pools::text[])
ON CONFLICT (job_id, attempt) DO NOTHING
RETURNING job_id, attempt, grace_s;
