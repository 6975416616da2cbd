-- Writes orders down. One that is there already is not given.
INSERT INTO reclaims (job_id, attempt, nonce, units, claimer_id, victim_id, plan_id, grace_s, pool)
SELECT * FROM unnest(@job_id::bigint[], @attempt::int[], @nonce::bigint[], @units::bigint[], @claimer::int[], @share_id::int[], @plan::int[],
    @grace_s::int[], @pool::text[])
ON CONFLICT (job_id, attempt) DO NOTHING
RETURNING job_id, attempt, grace_s;
