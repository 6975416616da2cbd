-- The newest row of the outbox that the log does not have; 0: there is none.
SELECT coalesce(max(id), 0) FROM outbox WHERE refused IS NULL
