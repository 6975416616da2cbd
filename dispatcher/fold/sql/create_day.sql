-- Partitions of history and attempt_texts for a day: a function, for their names and bounds are not known before.
CREATE FUNCTION divvy_make_history(day date) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'public', 'pg_temp'
    SET timezone TO 'UTC'
    AS $$
DECLARE
    parent text;
    name   text;
BEGIN
    FOREACH parent IN ARRAY '{history,attempt_texts}'::text[] LOOP
        name := parent || '_' || to_char(day, 'YYYYMMDD');
        CONTINUE WHEN to_regclass(name) IS NOT NULL;
        -- One at a time; reads and COPYs go on beside it.
        EXECUTE format('LOCK TABLE ONLY %I IN SHARE UPDATE EXCLUSIVE MODE', parent);
        CONTINUE WHEN to_regclass(name) IS NOT NULL;
        EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING ALL) WITH (autovacuum_vacuum_insert_scale_factor = 0.5, autovacuum_freeze_min_age = 0)',
            name, parent);
        -- A constant of an unknown type: the day is a timestamptz to one, a date to the other.
        EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', parent, name, day::text, (day + 1)::text);
    END LOOP;
END $$;
