-- Takes n ids that follow each other, and returns the first: a function, since nextval takes one and setval alone would meet others.
-- The lock is of the session, so that it is held for this moment only and not until the caller commits. What was taken before a
-- rollback is never given again. The unlock of an error may find nothing to unlock, which is a warning.
CREATE FUNCTION divvy_take_ids(n bigint) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'public', 'pg_temp'
    AS $$
DECLARE
    first bigint;
BEGIN
    IF n IS NULL OR n < 1 THEN
        RAISE EXCEPTION 'divvy_take_ids(%): want 1 id or more', n;
    END IF;
    PERFORM pg_advisory_lock(1685454861, 0);
    first := nextval('job_ids');
    IF n > 1 THEN
        PERFORM setval('job_ids', first + n - 1);
    END IF;
    PERFORM pg_advisory_unlock(1685454861, 0);
    RETURN first;
EXCEPTION WHEN OTHERS OR query_canceled THEN
    PERFORM pg_advisory_unlock(1685454861, 0);
    RAISE;
END $$;
