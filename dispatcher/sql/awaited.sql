-- Of rows of the outbox: whether some are still to be taken into the log, and why one was refused.
SELECT count(*) FILTER (WHERE refused IS NULL) > 0, min(refused) FROM outbox WHERE id = ANY (@rows::bigint[]);
