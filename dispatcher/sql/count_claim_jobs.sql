-- How many jobs of a claim have no lease, whoever is at them, from one id on.
SELECT count(*)::int FROM (
    SELECT FROM jobs j
    WHERE j.claims @> ARRAY[@claim::bigint] AND j.id > @after::bigint AND NOT EXISTS (SELECT FROM leases l WHERE l.job_id = j.id)
    LIMIT @n::int
) j;
