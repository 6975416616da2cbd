-- Writes a few bytes to the log in a transaction of their own. Its commit is behind all that was visible before, so once it
-- is answered, the synchronous standby has that too. It changes no table, needs no right, and nobody reads it.
SELECT pg_logical_emit_message(true, 'divvy'::text, ''::text);
