-- Ends of jobs a second by share and queue, and the units that they freed, out of the newest ledger rows of each lane.
-- Of a lane that has more rows in that time than are read the rate is that of the shorter time which they span.
WITH RECURSIVE known AS (
    -- The lanes that the ledger has, by jumping from one to the next in its primary key.
    (SELECT daemon_id, lane FROM ledger ORDER BY daemon_id, lane LIMIT 1)
    UNION ALL
    SELECT n.daemon_id, n.lane FROM known k CROSS JOIN LATERAL (
        SELECT daemon_id, lane FROM ledger WHERE (daemon_id, lane) > (k.daemon_id, k.lane) ORDER BY daemon_id, lane LIMIT 1
    ) n
), tail AS (
    SELECT k.daemon_id, k.lane, e.at, e.share_ids, e.queue_ids, e.befores, e.afters, e.ns, e.units
    FROM known k
    CROSS JOIN LATERAL (
        SELECT at, share_ids, queue_ids, befores, afters, ns, units FROM ledger
        WHERE daemon_id = k.daemon_id AND lane = k.lane
        ORDER BY seq DESC LIMIT @rows::int
    ) e
    WHERE e.at > now() - make_interval(secs => @span_s::float8)
), spans AS (
    SELECT daemon_id, lane,
        CASE WHEN count(*) < @rows::int THEN @span_s::float8
            ELSE greatest(1, extract(epoch FROM now() - min(at))) END AS span_s
    FROM tail GROUP BY daemon_id, lane
), ends AS (
    SELECT s.span_s, coalesce(u.share_id, t.share_ids[1]) AS share, coalesce(u.queue_id, t.queue_ids[1]) AS queue,
        coalesce(u.before, t.befores[1]) AS before, coalesce(u.after, t.afters[1]) AS after,
        coalesce(u.n, t.ns[1]) AS n, coalesce(u.units, t.units[1]) AS units
    FROM tail t
    JOIN spans s USING (daemon_id, lane)
    CROSS JOIN LATERAL unnest(t.share_ids, t.queue_ids, t.befores, t.afters, t.ns, t.units)
        AS u (share_id, queue_id, before, after, n, units)
    WHERE 'l' = ANY (t.befores)
)
SELECT share AS share_id, queue AS queue_id, sum(n / span_s)::float8 AS ends_per_s, sum(units / span_s)::float8 AS units_per_s
FROM ends
WHERE before = 'l' AND after IN ('f', 'x', 'c', 'r')
GROUP BY share, queue
