-- What is held at this moment, exact: checkpoint + tail; and, from the same snapshot, up to where it counts.
WITH tail AS MATERIALIZED (
    SELECT daemon_id, lane, seq, share_ids, shape_ids, queue_ids, befores, afters, ns, units FROM ledger_tail
), kept AS (
    INSERT INTO limit_lanes (daemon_id, lane, seq)
    SELECT daemon_id, lane, max(seq)
    FROM (SELECT daemon_id, lane, seq FROM counter_lanes UNION ALL SELECT daemon_id, lane, seq FROM tail) p
    GROUP BY daemon_id, lane
), sums AS (
    SELECT share_id, shape_id, queue_id, sum(held)::bigint AS held, sum(held_units)::bigint AS held_units
    FROM (
        SELECT share_id, shape_id, queue_id, held, held_units FROM counters
        UNION ALL
        SELECT m.share_id, m.shape_id, m.queue_id,
            CASE 'l' WHEN m.after THEN m.n WHEN m.before THEN -m.n ELSE 0 END,
            CASE 'l' WHEN m.after THEN m.units WHEN m.before THEN -m.units ELSE 0 END
        FROM tail t CROSS JOIN LATERAL (
            SELECT share_id, shape_id, queue_id, units, coalesce(u.before, t.befores[1]) AS before,
                coalesce(u.after, t.afters[1]) AS after, coalesce(u.n, t.ns[1]) AS n
            FROM unnest(t.share_ids, t.shape_ids, t.queue_ids, t.befores, t.afters, t.ns, t.units)
                AS u (share_id, shape_id, queue_id, before, after, n, units)
        ) AS m
        WHERE 'l' IN (m.before, m.after)
    ) x
    GROUP BY share_id, shape_id, queue_id
)
SELECT s.share_id, s.shape_id, s.queue_id, s.held, s.held_units, s.held * h.cores AS held_cores, h.cores, h.memory_mb, h.resources
FROM sums s JOIN shapes h ON h.id = s.shape_id
WHERE s.held <> 0;
