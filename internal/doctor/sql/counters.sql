-- Rows of the counters that no number of jobs can be: with the moves to come counted in, since a lane may be ahead of another.
SELECT count(*) FROM (
    SELECT x.share_id, x.shape_id, x.queue_id
    FROM (
        SELECT share_id, shape_id, queue_id, waiting, ready, held, held_units AS units FROM counters
        UNION ALL
        SELECT share_id, shape_id, 0, (after = 'w')::int * n - (before = 'w')::int * n, (after = 'r')::int * n - (before = 'r')::int * n, 0, 0 FROM ledger_tail_moves
        UNION ALL
        SELECT share_id, shape_id, queue_id, 0, 0, (after = 'l')::int * n - (before = 'l')::int * n, ((after = 'l')::int - (before = 'l')::int) * units
        FROM ledger_tail_moves WHERE 'l' IN (before, after)
    ) x
    GROUP BY x.share_id, x.shape_id, x.queue_id
    HAVING sum(x.waiting) < 0 OR sum(x.ready) < 0 OR sum(x.held) < 0 OR sum(x.units) < 0
) wrong;
