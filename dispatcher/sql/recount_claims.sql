-- Claims whose sharers are not as many as the leases of their jobs. It reads all leases.
WITH counted AS (
    SELECT u.id, count(*)::int AS n
    FROM leases l JOIN jobs j ON j.id = l.job_id CROSS JOIN LATERAL unnest(j.claims) AS u (id)
    WHERE j.claims IS NOT NULL
    GROUP BY u.id
)
SELECT c.id, c.sharers, coalesce(n.n, 0) AS leases
FROM resource_claims c LEFT JOIN counted n USING (id)
WHERE c.state <> 'released' AND c.sharers <> coalesce(n.n, 0)
ORDER BY c.id;
