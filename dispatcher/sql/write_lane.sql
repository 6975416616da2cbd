-- Appends a ledger row to a lane of a daemon.
INSERT INTO ledger (daemon_id, lane, seq, task_ids, share_ids, shape_ids, queue_ids, befores, afters, ns, units,
    places, low_ids, high_ids)
VALUES (@daemon::bigint, @lane::int, @seq::bigint, @task_ids::bigint[], @share_ids::int[], @shape_ids::int[],
    @queue_ids::int[], @befores::text[], @afters::text[], @ns::int[], @units::bigint[],
    @places::bigint[], @low_ids::bigint[], @high_ids::bigint[]);
