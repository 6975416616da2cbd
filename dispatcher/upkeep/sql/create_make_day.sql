-- The partition of a day (UTC) of a table without a default partition: a function, for its name and bounds are not known before.
CREATE FUNCTION divvy_make_day(parent text, day date) RETURNS int
    LANGUAGE plpgsql
    SET lock_timeout TO '200ms'
    SET search_path TO 'public', 'pg_temp'
    SET timezone TO 'UTC'
    AS $$
DECLARE
    name text := parent || to_char(day, '_YYYYMMDD');
BEGIN
    IF to_regclass(name) IS NOT NULL THEN
        RETURN 0;
    END IF;
    -- One at a time; reads and writes go on beside it.
    EXECUTE format('LOCK TABLE ONLY %I IN SHARE UPDATE EXCLUSIVE MODE', parent);
    IF to_regclass(name) IS NOT NULL THEN
        RETURN 0;
    END IF;
    -- Made beside the table and then attached: that keeps nobody waiting. Nothing is changed in it later.
    EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING ALL) WITH (autovacuum_vacuum_insert_scale_factor = 0.5, autovacuum_freeze_min_age = 0)', name, parent);
    EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', parent, name, day, day + 1);
    RETURN 1;
END $$;
