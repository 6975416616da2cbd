-- Claims that ended before a time, at most so many.
DELETE FROM claims WHERE id = ANY (ARRAY(SELECT c.id FROM claims c WHERE c.ended_at < @before::timestamptz ORDER BY c.ended_at LIMIT @most::int));
