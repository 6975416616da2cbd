-- A hint for every daemon; the version row is the truth.
SELECT pg_notify('divvy', 'site')
