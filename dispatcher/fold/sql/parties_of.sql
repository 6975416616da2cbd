-- The parties that hold one of these claims: one by one, for PostgreSQL would look at all parties for an array of many claims.
SELECT DISTINCT p.nth, p.task, p.jobs, array_to_string(p.claims, ' ') AS claims
FROM unnest(@ids::bigint[]) AS c (id)
CROSS JOIN LATERAL (
    SELECT * FROM claim_parties i WHERE i.claims @> ARRAY[c.id] OFFSET 0
) p
ORDER BY p.nth;
