-- Locked claims have as many sharers as their jobs have leases.
WITH counted AS (
    SELECT c.id, (SELECT count(*)::int FROM jobs j JOIN leases l ON l.job_id = j.id WHERE j.claims @> ARRAY[c.id]) AS n
    FROM resource_claims c WHERE c.id = ANY (@claims::bigint[])
)
UPDATE resource_claims c SET sharers = n.n, changed = pg_current_xact_id(),
    idle_since = CASE WHEN n.n = 0 THEN coalesce(c.idle_since, now()) END
FROM counted n
WHERE c.id = n.id AND c.state IN ('bound', 'draining') AND c.sharers <> n.n;
