-- Drops the partitions with ids from low on, of jobs and of blocks: a function, for their names are not known before. A block that goes
-- on behind them is cut: what is left of it is a row of the next partition that there is.
CREATE FUNCTION divvy_drop_jobs(low bigint, high bigint) RETURNS void
    LANGUAGE plpgsql
    SET lock_timeout TO '200ms'
    SET search_path TO 'public', 'pg_temp'
    AS $$
DECLARE
    next bigint;
BEGIN
    EXECUTE format('LOCK TABLE job_blocks_%s IN ACCESS EXCLUSIVE MODE', low);
    SELECT min(substring(pg_get_expr(c.relpartbound, c.oid) FROM 'FROM \(''(\d+)''\)')::bigint) INTO next
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = 'job_blocks'::regclass
        AND substring(pg_get_expr(c.relpartbound, c.oid) FROM 'FROM \(''(\d+)''\)')::bigint > divvy_drop_jobs.high;
    INSERT INTO job_blocks (low, high, task_id, made_at, share_id, shape_id, priority, max_attempts, again)
    SELECT next, b.high, b.task_id, b.made_at, b.share_id, b.shape_id, b.priority, b.max_attempts, b.again
    FROM job_blocks b
    WHERE b.low BETWEEN divvy_drop_jobs.low AND divvy_drop_jobs.high AND b.high >= next;
    EXECUTE format('DROP TABLE jobs_%s', low);
    EXECUTE format('DROP TABLE job_blocks_%s', low);
END $$;
