-- Ends of jobs a second by share and queue, and the units that they freed, out of the newest ledger rows of each lane.
-- The rate is that of the time since the oldest of these ends, so that a site which has just begun to run jobs is not
-- taken for a slow one; of a lane with more rows than are read it is that of the shorter time which they span.
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
), lanes AS (
    SELECT daemon_id, lane, count(*) >= @rows::int AS cut, min(at) AS since FROM tail GROUP BY daemon_id, lane
), moves AS (
    SELECT t.daemon_id, t.lane, t.at, coalesce(u.share_id, t.share_ids[1]) AS share, coalesce(u.queue_id, t.queue_ids[1]) AS queue,
        coalesce(u.before, t.befores[1]) AS before, coalesce(u.after, t.afters[1]) AS after,
        coalesce(u.n, t.ns[1]) AS n, coalesce(u.units, t.units[1]) AS units
    FROM tail t
    CROSS JOIN LATERAL unnest(t.share_ids, t.queue_ids, t.befores, t.afters, t.ns, t.units)
        AS u (share_id, queue_id, before, after, n, units)
    WHERE 'l' = ANY (t.befores)
), ends AS (
    SELECT daemon_id, lane, share, queue, min(at) AS since, sum(n) AS n, sum(units) AS units
    FROM moves
    WHERE before = 'l' AND after IN ('f', 'x', 'c', 'r')
    GROUP BY daemon_id, lane, share, queue
), spans AS (
    SELECT e.share, e.queue, e.n, e.units, CASE WHEN l.cut THEN greatest(1, extract(epoch FROM now() - l.since))
        ELSE greatest(@least_s::float8, extract(epoch FROM now() - min(e.since) OVER ())) END AS span_s
    FROM ends e
    JOIN lanes l USING (daemon_id, lane)
)
SELECT share AS share_id, queue AS queue_id, sum(n / span_s)::float8 AS ends_per_s, sum(units / span_s)::float8 AS units_per_s
FROM spans
GROUP BY share, queue
