-- The row of the outbox that made a claim of people.
SELECT said FROM claim_keys WHERE id = @id::bigint;
