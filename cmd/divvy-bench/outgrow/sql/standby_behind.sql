-- Seconds since the newest commit that a standby has replayed.
SELECT extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp())::float8;
