-- A daemon that has counted a commit which its failover lost may grant nothing more by what it knows: it is bound to the timeline of the
-- server that it joined at. Each promotion of a standby begins a new one.

-- +goose Up
CREATE FUNCTION divvy_timeline() RETURNS text
LANGUAGE sql
AS $$ SELECT CASE WHEN NOT pg_is_in_recovery() THEN left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) END $$;
COMMENT ON FUNCTION divvy_timeline() IS 'The timeline on which this server writes; NULL on a standby.';

ALTER TABLE daemons ADD COLUMN timeline text;
COMMENT ON COLUMN daemons.timeline IS 'The timeline that what the daemon knows is of: on another one it grants nothing, and starts anew. NULL: a daemon of before.';

-- +goose Down
ALTER TABLE daemons DROP COLUMN timeline;
DROP FUNCTION divvy_timeline();
