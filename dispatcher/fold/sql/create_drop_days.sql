-- Drops the oldest day of history or attempt_texts where all of it is from before a time: a function, for its name is not known before.
CREATE FUNCTION divvy_drop_history(parent text, before timestamptz) RETURNS int
    LANGUAGE plpgsql
    SET lock_timeout TO '200ms'
    SET search_path TO 'public', 'pg_temp'
    SET timezone TO 'UTC'
    AS $$
DECLARE
    oldest regclass;
    until  timestamptz;
BEGIN
    SELECT c.oid, substring(pg_get_expr(c.relpartbound, c.oid) FROM 'TO \(''([^'']+)''\)')::timestamptz INTO oldest, until
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = parent::regclass
    ORDER BY 2 LIMIT 1;
    IF oldest IS NULL OR until > before THEN
        RETURN 0;
    END IF;
    EXECUTE format('DROP TABLE %s', oldest);
    RETURN 1;
END $$;
