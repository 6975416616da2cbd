-- Rows that came while their day had no partition may get one when the day is over.

-- +goose Up
-- +goose StatementBegin
CREATE FUNCTION divvy_new_day(parent text, day date) RETURNS text
LANGUAGE plpgsql SET search_path = public, pg_temp
AS $$
DECLARE
    name text := parent || to_char(day, '_YYYYMMDD');
    col  name;
BEGIN
    EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING STORAGE INCLUDING INDEXES)', name, parent);
    FOR col IN SELECT attname FROM pg_attribute WHERE attrelid = parent::regclass AND attnum > 0 AND NOT attisdropped AND attstattarget = 0 LOOP
        EXECUTE format('ALTER TABLE %I ALTER %I SET STATISTICS 0', name, col);
    END LOOP;
    IF parent = 'decisions' THEN
        EXECUTE format('ALTER TABLE %I SET (autovacuum_enabled = false, toast.autovacuum_enabled = false)', name);
    ELSE
        EXECUTE format('ALTER TABLE %I SET (autovacuum_vacuum_insert_scale_factor = 0.5, autovacuum_freeze_min_age = 0,
            autovacuum_analyze_scale_factor = 0.5)', name);
    END IF;
    RETURN name;
END $$;
-- +goose StatementEnd
COMMENT ON FUNCTION divvy_new_day(parent text, day date) IS 'Makes a table for a day of another one, which is not a partition yet; returns its name.';

-- As before (00016), with the table made elsewhere.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION divvy_make_days(parent text, first date, days int) RETURNS int
LANGUAGE plpgsql SET lock_timeout = '200ms' SET timezone = 'UTC' SET search_path = public, pg_temp
AS $$
DECLARE
    key      text;
    rest     regclass;
    day      date;
    occupied boolean;
    made     int := 0;
BEGIN
    SELECT a.attname, nullif(p.partdefid, 0)::regclass INTO STRICT key, rest
    FROM pg_partitioned_table p
    JOIN pg_attribute a ON a.attrelid = p.partrelid AND a.attnum = p.partattrs[0]
    WHERE p.partrelid = parent::regclass;
    FOR day IN SELECT first + i FROM generate_series(0, days - 1) AS i LOOP
        CONTINUE WHEN to_regclass(parent || to_char(day, '_YYYYMMDD')) IS NOT NULL;
        IF rest IS NOT NULL THEN
            EXECUTE format('SELECT EXISTS (SELECT FROM %s WHERE %I >= %L AND %2$I < %4$L)', rest, key, day, day + 1) INTO occupied;
            CONTINUE WHEN occupied;
        END IF;
        BEGIN
            EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', parent, divvy_new_day(parent, day), day, day + 1);
            made := made + 1;
        EXCEPTION WHEN check_violation THEN
            NULL; -- a row of the day reached the default partition meanwhile
        END;
    END LOOP;
    RETURN made;
END $$;
-- +goose StatementEnd

-- Nobody changes rows of the default partition while they move: who would (a judgement on an attempt) waits. Ends do not, as
-- today has its partition, else nothing moves; and the day has been over for an hour, so that no transaction has its time.
-- +goose StatementBegin
CREATE FUNCTION divvy_move_day(parent text, day date) RETURNS bigint
LANGUAGE plpgsql SET lock_timeout = '200ms' SET timezone = 'UTC' SET search_path = public, pg_temp
AS $$
DECLARE
    key   text;
    rest  regclass;
    name  text := parent || to_char(day, '_YYYYMMDD');
    moved bigint;
BEGIN
    SELECT a.attname, nullif(p.partdefid, 0)::regclass INTO STRICT key, rest
    FROM pg_partitioned_table p
    JOIN pg_attribute a ON a.attrelid = p.partrelid AND a.attnum = p.partattrs[0]
    WHERE p.partrelid = parent::regclass;
    IF rest IS NULL OR day >= (now() - interval '1 hour')::date OR to_regclass(name) IS NOT NULL
        OR to_regclass(parent || to_char(now(), '_YYYYMMDD')) IS NULL THEN
        RETURN 0;
    END IF;
    EXECUTE format('LOCK TABLE %s IN SHARE ROW EXCLUSIVE MODE', rest);
    PERFORM divvy_new_day(parent, day);
    EXECUTE format('WITH gone AS (DELETE FROM %s WHERE %I >= %L AND %2$I < %4$L RETURNING *) INSERT INTO %5$I SELECT * FROM gone',
        rest, key, day, day + 1, name);
    GET DIAGNOSTICS moved = ROW_COUNT;
    IF moved = 0 THEN -- there was none, or none of them is in the roll-ups yet
        EXECUTE format('DROP TABLE %I', name);
        RETURN 0;
    END IF;
    -- So that the rows need not be looked at again while the default partition is locked.
    EXECUTE format('ALTER TABLE %I ADD CONSTRAINT of_the_day CHECK (%I >= %L AND %2$I < %4$L)', name, key, day, day + 1);
    RETURN moved;
END $$;
-- +goose StatementEnd
COMMENT ON FUNCTION divvy_move_day(parent text, day date) IS 'Takes the rows of a day that is over out of the default partition into a table of their own; returns how many. divvy_attach_day makes it a partition, in the same transaction.';

-- +goose StatementBegin
CREATE FUNCTION divvy_attach_day(parent text, day date) RETURNS void
LANGUAGE plpgsql SET lock_timeout = '200ms' SET timezone = 'UTC' SET search_path = public, pg_temp
AS $$
DECLARE
    name text := parent || to_char(day, '_YYYYMMDD');
BEGIN
    EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', parent, name, day, day + 1);
    EXECUTE format('ALTER TABLE %I DROP CONSTRAINT of_the_day', name);
END $$;
-- +goose StatementEnd
COMMENT ON FUNCTION divvy_attach_day(parent text, day date) IS 'Makes what divvy_move_day has made a partition. It fails where a row of the day is left in the default partition.';

-- +goose Down
DROP FUNCTION divvy_attach_day(text, date);
DROP FUNCTION divvy_move_day(text, date);
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION divvy_make_days(parent text, first date, days int) RETURNS int
LANGUAGE plpgsql SET lock_timeout = '200ms' SET timezone = 'UTC' SET search_path = public, pg_temp
AS $$
DECLARE
    key      text;
    rest     regclass;
    day      date;
    name     text;
    col      name;
    occupied boolean;
    made     int := 0;
BEGIN
    SELECT a.attname, nullif(p.partdefid, 0)::regclass INTO STRICT key, rest
    FROM pg_partitioned_table p
    JOIN pg_attribute a ON a.attrelid = p.partrelid AND a.attnum = p.partattrs[0]
    WHERE p.partrelid = parent::regclass;
    FOR day IN SELECT first + i FROM generate_series(0, days - 1) AS i LOOP
        name := parent || to_char(day, '_YYYYMMDD');
        CONTINUE WHEN to_regclass(name) IS NOT NULL;
        IF rest IS NOT NULL THEN
            EXECUTE format('SELECT EXISTS (SELECT FROM %s WHERE %I >= %L AND %2$I < %4$L)', rest, key, day, day + 1) INTO occupied;
            CONTINUE WHEN occupied;
        END IF;
        BEGIN
            EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING STORAGE)', name, parent);
            FOR col IN SELECT attname FROM pg_attribute WHERE attrelid = parent::regclass AND attnum > 0 AND NOT attisdropped AND attstattarget = 0 LOOP
                EXECUTE format('ALTER TABLE %I ALTER %I SET STATISTICS 0', name, col);
            END LOOP;
            IF parent = 'decisions' THEN
                EXECUTE format('ALTER TABLE %I SET (autovacuum_enabled = false, toast.autovacuum_enabled = false)', name);
            ELSE
                EXECUTE format('ALTER TABLE %I SET (autovacuum_vacuum_insert_scale_factor = 0.5, autovacuum_freeze_min_age = 0,
                    autovacuum_analyze_scale_factor = 0.5)', name);
            END IF;
            EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', parent, name, day, day + 1);
            made := made + 1;
        EXCEPTION WHEN check_violation THEN
            NULL; -- a row of the day reached the default partition meanwhile
        END;
    END LOOP;
    RETURN made;
END $$;
-- +goose StatementEnd
DROP FUNCTION divvy_new_day(text, date);
