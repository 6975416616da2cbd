-- Sums of held jobs and units that differ between checkpoint + tail of the ledger and the leases.
SELECT count(*) FROM (
    SELECT FROM (
        SELECT share_id, shape_id, queue_id, held, held_units AS units FROM counters
        UNION ALL
        SELECT share_id, shape_id, queue_id, (after = 'l')::int * n - (before = 'l')::int * n,
            ((after = 'l')::int - (before = 'l')::int) * units
        FROM ledger_tail_moves WHERE 'l' IN (before, after)
        UNION ALL
        SELECT share_id, shape_id, queue_id, -1, -units FROM leases
    ) x
    GROUP BY share_id, shape_id, queue_id
    HAVING sum(held) <> 0 OR sum(units) <> 0
) wrong;
