-- Drops the oldest day of a table where it ended before a time: a function, for its name is not known before. One at a time, so that
-- its lock on the table is short.
CREATE FUNCTION divvy_drop_day(parent text, before timestamptz) RETURNS int
    LANGUAGE plpgsql
    SET lock_timeout TO '200ms'
    SET search_path TO 'public', 'pg_temp'
    SET timezone TO 'UTC'
    AS $$
DECLARE
    oldest text;
    ended  timestamptz;
BEGIN
    SELECT c.relname, substring(pg_get_expr(c.relpartbound, c.oid) FROM 'TO \(''([^'']+)''\)')::timestamptz INTO oldest, ended
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = parent::regclass
    ORDER BY 2 LIMIT 1;
    IF oldest IS NULL OR ended > before THEN
        RETURN 0;
    END IF;
    EXECUTE format('DROP TABLE %I', oldest);
    RETURN 1;
END $$;
