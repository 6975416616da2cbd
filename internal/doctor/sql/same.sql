-- Which database of which server this is.
SELECT (SELECT oid::bigint FROM pg_database WHERE datname = current_database()) AS database, pg_postmaster_start_time() AS started;
