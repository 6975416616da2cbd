-- One row of a lane.
SELECT daemon_id, lane, seq, task_ids, share_ids, shape_ids, queue_ids, befores, afters, ns, units, places, low_ids, high_ids
FROM ledger WHERE daemon_id = @daemon::bigint AND lane = @lane::int AND seq = @seq::bigint;
