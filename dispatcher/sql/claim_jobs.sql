-- Jobs of a claim that have no lease, from one id on; locked, those that somebody is at left out.
SELECT j.id, j.shape_id, j.claims
FROM jobs j
WHERE j.claims @> ARRAY[@claim::bigint] AND j.id > @after::bigint AND NOT EXISTS (SELECT FROM leases l WHERE l.job_id = j.id)
ORDER BY j.id LIMIT @n::int
FOR UPDATE OF j SKIP LOCKED;
