-- How old the oldest move is that the counters do not have yet, and that tasks do not have: one row a lane is read.
SELECT coalesce(max(extract(epoch FROM now() - c.at)), 0)::float8 AS counters_s, coalesce(max(extract(epoch FROM now() - t.at)), 0)::float8 AS tasks_s
FROM ledger_lanes a
LEFT JOIN LATERAL (
    SELECT l.at FROM ledger l
    WHERE l.daemon_id = a.daemon_id AND l.lane = a.lane AND l.seq > coalesce((SELECT k.seq FROM counter_lanes k WHERE k.daemon_id = a.daemon_id AND k.lane = a.lane), 0)
    ORDER BY l.seq LIMIT 1
) c ON true
LEFT JOIN LATERAL (
    SELECT l.at FROM ledger l
    WHERE l.daemon_id = a.daemon_id AND l.lane = a.lane AND l.seq > coalesce((SELECT k.seq FROM task_lanes k WHERE k.daemon_id = a.daemon_id AND k.lane = a.lane), 0)
    ORDER BY l.seq LIMIT 1
) t ON true;
