-- Appends one ledger row in a shared lane, and hints at it. The lane of a backend is fixed, its row is the lock.
WITH lane AS (
    UPDATE lanes SET seq = seq + 1 WHERE lane = pg_backend_pid() % 16 RETURNING lane, seq
), logged AS (
    INSERT INTO ledger (daemon_id, lane, seq, at, task_ids, share_ids, shape_ids, queue_ids, befores, afters, ns, units,
        places, low_ids, high_ids)
    SELECT 0, lane.lane, lane.seq, clock_timestamp(), @task_ids::bigint[], @share_ids::int[], @shape_ids::int[],
        @queue_ids::int[], @befores::text[], @afters::text[], @ns::int[], @units::bigint[],
        @places::bigint[], @low_ids::bigint[], @high_ids::bigint[]
    FROM lane
    RETURNING seq
)
SELECT pg_notify('divvy', 'ledger') FROM logged;
