-- Adds rows of the ledger's tail to the checkpoint, and the jobs that ended in them to those of the hour; per lane the
-- oldest rows first, so that positions stay true. Arrays are taken apart side by side in a SELECT list, where nothing is stored in between: a quarter of the whole.
WITH tail AS MATERIALIZED (
    SELECT l.*
    FROM ledger_lanes a
    LEFT JOIN counter_lanes c USING (daemon_id, lane)
    CROSS JOIN LATERAL (
        SELECT t.daemon_id, t.lane, t.seq, t.share_ids, t.shape_ids, t.queue_ids, t.befores, t.afters, t.ns, t.units,
            t.befores[1]::"char" AS the_before, t.afters[1]::"char" AS the_after, t.ns[1] AS the_n
        FROM ledger t
        WHERE t.daemon_id = a.daemon_id AND t.lane = a.lane AND t.seq > coalesce(c.seq, 0)
        ORDER BY t.seq LIMIT @n::int
    ) l
), moves AS MATERIALIZED (
    SELECT u.share_id, u.shape_id, u.queue_id, coalesce(u.before::"char", the_before) AS before, coalesce(u.after::"char", the_after) AS after,
        sum(coalesce(u.n, the_n)) AS n, sum(u.units) AS units
    FROM (
        SELECT unnest(share_ids) AS share_id, unnest(shape_ids) AS shape_id, unnest(queue_ids) AS queue_id, unnest(befores) AS before,
            unnest(afters) AS after, unnest(ns) AS n, unnest(units) AS units, the_before, the_after, the_n
        FROM tail
    ) u
    GROUP BY 1, 2, 3, 4, 5
), deltas AS (
    SELECT share_id, shape_id, 0 AS queue_id, sum(CASE 'w'::"char" WHEN after THEN n WHEN before THEN -n ELSE 0 END) AS waiting,
        sum(CASE 'r'::"char" WHEN after THEN n WHEN before THEN -n ELSE 0 END) AS ready, 0 AS held, 0 AS held_units
    FROM moves WHERE before <> after GROUP BY share_id, shape_id
    UNION ALL
    SELECT share_id, shape_id, queue_id, 0, 0, sum(CASE 'l'::"char" WHEN after THEN n ELSE -n END),
        sum(CASE 'l'::"char" WHEN after THEN units ELSE -units END)
    FROM moves WHERE before <> after AND 'l'::"char" IN (before, after) GROUP BY share_id, shape_id, queue_id
), counted AS (
    INSERT INTO counters AS c (share_id, shape_id, queue_id, waiting, ready, held, held_units)
    SELECT share_id, shape_id, queue_id, waiting, ready, held, held_units
    FROM deltas WHERE waiting <> 0 OR ready <> 0 OR held <> 0 OR held_units <> 0
    ON CONFLICT (share_id, shape_id, queue_id) DO UPDATE SET waiting = c.waiting + excluded.waiting,
        ready = c.ready + excluded.ready, held = c.held + excluded.held, held_units = c.held_units + excluded.held_units
), ended AS (
    INSERT INTO end_counters AS e (hour, share_id, shape_id, queue_id, state, n)
    SELECT date_trunc('hour', now(), 'UTC'), share_id, shape_id, queue_id, after, sum(n)
    FROM moves WHERE after IN ('f', 'x', 'c') GROUP BY share_id, shape_id, queue_id, after
    ON CONFLICT (hour, share_id, shape_id, queue_id, state) DO UPDATE SET n = e.n + excluded.n
), moved AS (
    INSERT INTO counter_lanes (daemon_id, lane, seq)
    SELECT daemon_id, lane, max(seq) FROM tail GROUP BY daemon_id, lane
    ON CONFLICT (daemon_id, lane) DO UPDATE SET seq = excluded.seq
)
SELECT count(*)::int FROM tail;
