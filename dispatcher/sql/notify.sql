-- A hint to the other daemons.
SELECT pg_notify('divvy', @what::text);
