-- A removed queue keeps its row and its id, like a share.
UPDATE queues
SET removed_in = @version::bigint
WHERE id = ANY (@ids::int[]) AND removed_in IS NULL
