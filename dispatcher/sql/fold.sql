-- Adds rows of the ledger's tail to the checkpoint; per lane the oldest ones first, so that positions stay true.
WITH tail AS MATERIALIZED (
    SELECT l.*
    FROM ledger_lanes a
    LEFT JOIN counter_lanes c USING (daemon_id, lane)
    CROSS JOIN LATERAL (
        SELECT t.daemon_id, t.lane, t.seq, t.share_ids, t.shape_ids, t.queue_ids, t.befores, t.afters, t.ns, t.units
        FROM ledger t
        WHERE t.daemon_id = a.daemon_id AND t.lane = a.lane AND t.seq > coalesce(c.seq, 0)
        ORDER BY t.seq LIMIT @n::int
    ) l
), deltas AS (
    SELECT m.share_id, m.shape_id, x.queue_id, sum(x.waiting) AS waiting, sum(x.ready) AS ready, sum(x.held) AS held,
        sum(x.held_units) AS held_units
    FROM tail t
    CROSS JOIN LATERAL (
        SELECT share_id, shape_id, queue_id, units, coalesce(u.before, t.befores[1]) AS before,
            coalesce(u.after, t.afters[1]) AS after, coalesce(u.n, t.ns[1]) AS n
        FROM unnest(t.share_ids, t.shape_ids, t.queue_ids, t.befores, t.afters, t.ns, t.units)
            AS u (share_id, shape_id, queue_id, before, after, n, units)
    ) AS m
    CROSS JOIN LATERAL (
        VALUES (0, (m.after = 'w')::int * m.n - (m.before = 'w')::int * m.n,
                (m.after = 'r')::int * m.n - (m.before = 'r')::int * m.n, 0, 0::bigint),
            (m.queue_id, 0, 0, (m.after = 'l')::int * m.n - (m.before = 'l')::int * m.n,
                (m.after = 'l')::int * m.units - (m.before = 'l')::int * m.units)
    ) AS x (queue_id, waiting, ready, held, held_units)
    GROUP BY m.share_id, m.shape_id, x.queue_id
), counted AS (
    INSERT INTO counters AS c (share_id, shape_id, queue_id, waiting, ready, held, held_units)
    SELECT share_id, shape_id, queue_id, waiting, ready, held, held_units
    FROM deltas WHERE waiting <> 0 OR ready <> 0 OR held <> 0 OR held_units <> 0
    ON CONFLICT (share_id, shape_id, queue_id) DO UPDATE SET waiting = c.waiting + excluded.waiting,
        ready = c.ready + excluded.ready, held = c.held + excluded.held, held_units = c.held_units + excluded.held_units
), moved AS (
    INSERT INTO counter_lanes (daemon_id, lane, seq)
    SELECT daemon_id, lane, max(seq) FROM tail GROUP BY daemon_id, lane
    ON CONFLICT (daemon_id, lane) DO UPDATE SET seq = excluded.seq
)
SELECT count(*)::int FROM tail;
