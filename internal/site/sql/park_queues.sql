-- Clears the names that change, so that two queues can swap theirs. No name has a slash.
UPDATE queues
SET name = '/' || id
WHERE id = ANY (@ids::int[]) AND removed_in IS NULL
