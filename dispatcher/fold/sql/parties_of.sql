-- The parties that hold one of these claims.
SELECT nth, task, jobs, array_to_string(claims, ' ') AS claims FROM claim_parties WHERE claims && @claims::bigint[] ORDER BY nth;
