-- Deletes the oldest rows of a table that is not partitioned, by a column that an index begins with: a function, for there are many tables.
CREATE FUNCTION divvy_drop_rows(name text, key text, before timestamptz, most int) RETURNS int
    LANGUAGE plpgsql
    SET search_path TO 'public', 'pg_temp'
    AS $$
DECLARE
    n int;
BEGIN
    EXECUTE format('DELETE FROM %1$I WHERE ctid = ANY (ARRAY(SELECT ctid FROM %1$I WHERE %2$I < $1 ORDER BY %2$I LIMIT $2))', name, key)
        USING before, most;
    GET DIAGNOSTICS n = ROW_COUNT;
    RETURN n;
END $$;
