-- Vacuums that can remove nothing are held off.
--
-- While a snapshot stays open, what died since cannot be removed, and autovacuum comes for it all the same: every visit reads all that died
-- and all that was inserted since, and the next one again. Under ten million claims these visits came to take as much of the machine as the claims.
-- The dispatcher raises what a table waits for while it sees such a snapshot (dispatcher/vacuum.go), so that each visit
-- comes after twice as much as the one before, and lowers it again when the snapshot is gone.

-- +goose Up
-- Dead rows and inserted rows that autovacuum waits for beyond its factors, of one table; NULL = as configured. False when somebody is at the table,
-- say a vacuum: the lock would end it.
-- +goose StatementBegin
CREATE FUNCTION divvy_hold_vacuum(name text, dead bigint, inserted bigint) RETURNS boolean
LANGUAGE plpgsql SET lock_timeout = '20ms' SET search_path = public, pg_temp
AS $$
BEGIN
    IF dead IS NULL THEN
        EXECUTE format('ALTER TABLE %I RESET (autovacuum_vacuum_threshold, autovacuum_vacuum_insert_threshold)', name);
    ELSE
        EXECUTE format('ALTER TABLE %I SET (autovacuum_vacuum_threshold = %s, autovacuum_vacuum_insert_threshold = %s)', name,
            least(dead, 2000000000), least(inserted, 2000000000));
    END IF;
    RETURN true;
EXCEPTION WHEN lock_not_available THEN
    RETURN false;
END $$;
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['jobs', 'leases', 'ledger', 'counters', 'tasks'] LOOP
        PERFORM divvy_hold_vacuum(name, NULL, NULL);
    END LOOP;
END $$;
-- +goose StatementEnd
DROP FUNCTION divvy_hold_vacuum;
