-- Drops the oldest partition where it is old enough: a function, for its name is not known before. The newest row always stays.
CREATE FUNCTION divvy_drop_batches(before timestamptz, folded bigint) RETURNS int
    LANGUAGE plpgsql
    SET lock_timeout TO '200ms'
    SET search_path TO 'public', 'pg_temp'
    AS $$
DECLARE
    oldest regclass;
    last   bigint; -- its last seq
BEGIN
    SELECT c.oid, substring(pg_get_expr(c.relpartbound, c.oid) FROM 'TO \(''(\d+)''\)')::bigint - 1 INTO oldest, last
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = 'batches'::regclass
    ORDER BY 2 LIMIT 1;
    IF last > folded OR NOT EXISTS (SELECT FROM batches WHERE seq = last AND at < before)
        OR NOT EXISTS (SELECT FROM batches WHERE seq > last) THEN
        RETURN 0;
    END IF;
    EXECUTE format('DROP TABLE %s', oldest);
    RETURN 1;
END $$;
