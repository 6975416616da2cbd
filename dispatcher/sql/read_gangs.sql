-- All jobs of claims that start together, in their order, with whether they may start, and how many are still to be made: none
-- if the task makes no more. At least one row a claim.
SELECT c.claim_id, CASE WHEN EXISTS (
        SELECT FROM resource_claims r JOIN tasks t ON t.id = r.task_id WHERE r.id = c.claim_id AND t.n_generated >= t.n_jobs
    ) THEN 0 ELSE greatest(0, coalesce(g.members - g.made, 0)) END::bigint AS unmade,
    j.id IS NOT NULL AS has_a_job, j.ctid AS row, coalesce(j.id, 0), coalesce(j.place, 0), coalesce(j.task_id, 0), coalesce(j.attempt, 0),
    coalesce(j.priority, 0), coalesce(j.idx, 0), j.inputs, coalesce(j.first_event, 0), coalesce(j.n_events, 0), j.claims,
    CASE WHEN j.retry_of IS NULL THEN j.created_at END AS first_made,
    coalesce(j.share_id, 0), coalesce(j.shape_id, 0), coalesce(j.state = 'ready', false) AS ready, coalesce(j.leased, false) AS leased
FROM unnest(@claims::bigint[]) AS c (claim_id)
LEFT JOIN claim_gangs g ON g.claim_id = c.claim_id
LEFT JOIN LATERAL (
    SELECT j.ctid, j.*, (SELECT l.attempt FROM leases l WHERE l.job_id = j.id) IS NOT NULL AS leased
    FROM jobs j WHERE j.claims @> ARRAY[c.claim_id]
) j ON true
ORDER BY c.claim_id, j.place, j.id;
