-- Of rows of the outbox: how many are still to be taken into the log, and why one was refused.
SELECT count(*) FILTER (WHERE refused IS NULL), min(refused) FROM outbox WHERE id = ANY (@rows::bigint[]);
