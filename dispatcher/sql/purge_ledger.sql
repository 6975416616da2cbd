-- The ledger is kept for replay for some time; nothing goes that a checkpoint does not have. The oldest rows of each lane
-- are read by key, and only of lanes whose first row is old: a look costs a row a lane when there is nothing to do.
DELETE FROM ledger
WHERE ctid = ANY (ARRAY(
    SELECT old.ctid
    FROM counter_lanes c
    JOIN task_lanes t USING (daemon_id, lane)
    CROSS JOIN LATERAL (
        SELECT l.at FROM ledger l
        WHERE l.daemon_id = c.daemon_id AND l.lane = c.lane AND l.seq <= least(c.seq, t.seq)
        ORDER BY l.seq LIMIT 1
    ) first
    CROSS JOIN LATERAL (
        SELECT l.ctid, l.at FROM ledger l
        WHERE l.daemon_id = c.daemon_id AND l.lane = c.lane AND l.seq <= least(c.seq, t.seq)
            AND first.at < now() - make_interval(secs => @keep_s::float8)
        ORDER BY l.seq LIMIT @n::int
    ) old
    WHERE old.at < now() - make_interval(secs => @keep_s::float8)
));
