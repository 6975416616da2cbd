-- Whether rows of the outbox up to this one are still to be taken into the log.
SELECT EXISTS (SELECT FROM outbox WHERE id <= @row::bigint AND refused IS NULL);
