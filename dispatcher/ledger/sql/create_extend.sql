-- Partitions for the next rows: a function, for their names and bounds are not known before.
CREATE FUNCTION divvy_extend_batches(room bigint, size bigint) RETURNS int
    LANGUAGE plpgsql
    SET lock_timeout TO '200ms'
    SET search_path TO 'public', 'pg_temp'
    AS $$
DECLARE
    newest bigint;
    bound  bigint; -- the first seq that has no partition
    made   int := 0;
BEGIN
    -- One at a time; appends and reads go on beside it.
    LOCK TABLE ONLY batches IN SHARE UPDATE EXCLUSIVE MODE;
    SELECT coalesce(max(seq), 0) INTO newest FROM batches;
    SELECT coalesce(max(substring(pg_get_expr(c.relpartbound, c.oid) FROM 'TO \(''(\d+)''\)')::bigint), newest + 1) INTO bound
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = 'batches'::regclass;
    WHILE bound - 1 - newest < room LOOP
        -- Made beside the table and then attached: that keeps nobody waiting.
        EXECUTE format('CREATE TABLE batches_%s (LIKE batches INCLUDING ALL)', bound);
        EXECUTE format('ALTER TABLE batches ATTACH PARTITION batches_%s FOR VALUES FROM (%s) TO (%s)', bound, bound, bound + size);
        bound := bound + size;
        made := made + 1;
    END LOOP;
    RETURN made;
END $$;
