-- Daemons read the tokens at once.
SELECT pg_notify('divvy', 'tokens')
