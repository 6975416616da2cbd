-- Ends sessions that hold an advisory lock of ours and have waited for their client for too long: those of a daemon that was
-- frozen inside a transaction. Nothing else would: what was frozen still answers for its connection, and a session that is in
-- the midst of sending rows is idle for no time limit. What they had not committed never was.
WITH sleepers AS MATERIALIZED (
    SELECT a.pid::bigint AS pid
    FROM pg_stat_activity a
    WHERE a.datname = current_database() AND a.usename = current_user AND a.wait_event_type = 'Client'
        AND greatest(a.state_change, a.query_start) < clock_timestamp() - make_interval(secs => @silent_s::float8)
        AND a.pid IN (
            SELECT l.pid FROM pg_locks l
            WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 2 AND l.classid::bigint = ANY (@classes::bigint[])
        )
)
SELECT pid FROM sleepers WHERE pg_terminate_backend(pid::int);
