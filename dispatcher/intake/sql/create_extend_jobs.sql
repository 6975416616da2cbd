-- Partitions for the next ids: a function, for their names and bounds are not known before.
CREATE FUNCTION divvy_extend_jobs(room bigint, size bigint) RETURNS int
    LANGUAGE plpgsql
    SET lock_timeout TO '200ms'
    SET search_path TO 'public', 'pg_temp'
    AS $$
DECLARE
    newest bigint; -- id that was taken
    bound  bigint; -- the first id that has no partition
    made   int := 0;
    parent text;
BEGIN
    -- One at a time; COPYs and reads go on beside it.
    LOCK TABLE ONLY job_blocks IN SHARE UPDATE EXCLUSIVE MODE;
    SELECT CASE WHEN is_called THEN last_value ELSE 0 END INTO newest FROM job_ids;
    SELECT coalesce(max(substring(pg_get_expr(c.relpartbound, c.oid) FROM 'TO \(''(\d+)''\)')::bigint), newest + 1) INTO bound
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = 'job_blocks'::regclass;
    WHILE bound - 1 - newest < room LOOP
        FOREACH parent IN ARRAY ARRAY['jobs', 'job_blocks'] LOOP
            -- Made beside the table and then attached: that keeps nobody waiting.
            EXECUTE format('CREATE TABLE %s_%s (LIKE %s INCLUDING ALL)', parent, bound, parent);
            EXECUTE format('ALTER TABLE %s ATTACH PARTITION %s_%s FOR VALUES FROM (%s) TO (%s)', parent, parent, bound, bound, bound + size);
        END LOOP;
        bound := bound + size;
        made := made + 1;
    END LOOP;
    RETURN made;
END $$;
