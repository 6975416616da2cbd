-- The walk has come so far; NULL: to the end.
UPDATE place_walk SET after = @after::bigint;
