-- The newest row of the outbox; 0: there is none.
SELECT coalesce(max(id), 0) FROM outbox;
