-- A week of ledger is kept for replay; nothing goes that a checkpoint does not have.
DELETE FROM ledger l
USING counter_lanes c, task_lanes t
WHERE c.daemon_id = l.daemon_id AND c.lane = l.lane AND t.daemon_id = l.daemon_id AND t.lane = l.lane
    AND l.seq <= least(c.seq, t.seq) AND l.at < now() - interval '7 days';
