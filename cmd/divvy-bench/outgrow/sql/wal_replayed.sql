-- Whether a standby has replayed the WAL up to a place.
SELECT pg_last_wal_replay_lsn() >= @up_to::pg_lsn;
