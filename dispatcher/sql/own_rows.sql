-- This daemon's ledger rows that the limits do not count.
SELECT l.daemon_id, l.lane, l.seq, l.task_ids, l.share_ids, l.shape_ids, l.queue_ids, l.befores, l.afters, l.ns, l.units,
    l.places, l.low_ids, l.high_ids
FROM ledger_lanes a
LEFT JOIN limit_lanes b USING (daemon_id, lane)
JOIN ledger l ON l.daemon_id = a.daemon_id AND l.lane = a.lane AND l.seq > coalesce(b.seq, 0)
WHERE a.daemon_id = @daemon::bigint
ORDER BY l.lane, l.seq;
