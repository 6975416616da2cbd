-- Clears the paths that change, so that two shares can swap theirs. No path begins with a slash.
UPDATE shares
SET path = '/' || id
WHERE id = ANY (@ids::int[]) AND removed_in IS NULL
