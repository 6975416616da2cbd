-- Bytes of WAL that were ever written into the buffers of this server.
SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8;
