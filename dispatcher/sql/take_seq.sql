-- Takes a place in a lane with an empty row, so that a transaction whose fate is unknown can no longer use it.
-- No row inserted: that transaction did commit.
INSERT INTO ledger (daemon_id, lane, seq, task_ids, share_ids, shape_ids, queue_ids, befores, afters, ns, units,
    places, low_ids, high_ids)
VALUES (@daemon::bigint, @lane::int, @seq::bigint, '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}')
ON CONFLICT DO NOTHING;
