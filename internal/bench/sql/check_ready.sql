-- Sums of ready and waiting jobs that differ between checkpoint + tail of the ledger and the jobs without a lease.
SELECT count(*) FROM (
    SELECT FROM (
        SELECT share_id, shape_id, ready, waiting FROM counters
        UNION ALL
        SELECT share_id, shape_id, (after = 'r')::int * n - (before = 'r')::int * n,
            (after = 'w')::int * n - (before = 'w')::int * n
        FROM ledger_tail_moves
        UNION ALL
        SELECT j.share_id, j.shape_id, -(j.state = 'ready')::int, -(j.state = 'waiting')::int
        FROM jobs j WHERE NOT EXISTS (SELECT FROM leases l WHERE l.job_id = j.id)
    ) x
    GROUP BY share_id, shape_id
    HAVING sum(ready) <> 0 OR sum(waiting) <> 0
) wrong;
