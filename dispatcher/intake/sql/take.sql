-- Removes rows of the outbox whose entries the log gets with the same commit.
DELETE FROM outbox WHERE id = ANY (@ids::bigint[]) AND refused IS NULL;
