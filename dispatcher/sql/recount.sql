-- What the counters lack, as jobs, leases and claims are: checkpoint + tail of the ledger against the tables, in one snapshot.
-- It reads all live jobs.
SELECT x.share_id, x.shape_id, x.queue_id, -sum(x.waiting)::bigint AS waiting, -sum(x.ready)::bigint AS ready, -sum(x.held)::bigint AS held, -sum(x.units)::bigint AS held_units
FROM (
    SELECT share_id, shape_id, queue_id, waiting, ready, held, held_units AS units FROM counters
    UNION ALL
    SELECT share_id, shape_id, 0, (after = 'w')::int * n - (before = 'w')::int * n, (after = 'r')::int * n - (before = 'r')::int * n, 0, 0
    FROM ledger_tail_moves WHERE 'r' IN (before, after) OR 'w' IN (before, after)
    UNION ALL
    SELECT share_id, shape_id, queue_id, 0, 0, (after = 'l')::int * n - (before = 'l')::int * n, ((after = 'l')::int - (before = 'l')::int) * units
    FROM ledger_tail_moves WHERE 'l' IN (before, after)
    UNION ALL
    SELECT j.share_id, j.shape_id, 0, -count(*) FILTER (WHERE j.state = 'waiting'), -count(*) FILTER (WHERE j.state = 'ready'), 0, 0
    FROM jobs j WHERE NOT EXISTS (SELECT FROM leases l WHERE l.job_id = j.id)
    GROUP BY j.share_id, j.shape_id
    UNION ALL
    SELECT share_id, shape_id, queue_id, 0, 0, -count(*), -sum(units) FROM leases GROUP BY share_id, shape_id, queue_id
    UNION ALL
    SELECT share_id, charge_id, queue_id, 0, 0, -1, 0 FROM resource_claims WHERE charge_id <> 0 AND share_id <> 0
) x
GROUP BY x.share_id, x.shape_id, x.queue_id
HAVING sum(x.waiting) <> 0 OR sum(x.ready) <> 0 OR sum(x.held) <> 0 OR sum(x.units) <> 0
ORDER BY x.share_id, x.shape_id, x.queue_id;
