-- Drain, online, offline, test: 0 rows when the queue is gone.
UPDATE queues
SET state = @state::text
WHERE id = @id::int AND removed_in IS NULL
