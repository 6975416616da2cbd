-- The parties that hold one of these claims, with their jobs: one by one, for PostgreSQL would look at all parties for an array of many claims.
SELECT p.nth, p.task, p.jobs, array_to_string(p.claims, ' ') AS claims,
    coalesce((SELECT string_agg(j.low || ' ' || j.high, ' ' ORDER BY j.place) FROM claim_jobs j WHERE j.party = p.nth), '') AS spans
FROM (
    SELECT DISTINCT i.nth, i.task, i.jobs, i.claims
    FROM unnest(@ids::bigint[]) AS c (id)
    CROSS JOIN LATERAL (
        SELECT * FROM claim_parties i WHERE i.claims @> ARRAY[c.id] OFFSET 0
    ) i
) p
ORDER BY p.nth;
