-- A removed share keeps its row and its id: history refers to them.
UPDATE shares
SET removed_in = @version::bigint
WHERE id = ANY (@ids::int[]) AND removed_in IS NULL
