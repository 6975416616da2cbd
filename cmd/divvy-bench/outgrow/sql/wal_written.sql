-- Up to where the WAL was handed to the operating system.
SELECT pg_current_wal_lsn()::text;
