-- Attempts that there are.
SELECT count(*) FROM history;
