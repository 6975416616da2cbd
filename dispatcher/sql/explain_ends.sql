-- How fast attempts ended lately, by queue and share: the last rows of each lane of ends, within so many seconds, as long as
-- they have no more than so many moves. A lane of which more rows would be younger than that counts for the time that its
-- rows span; a site that is younger, for its age.
SELECT m.queue_id, m.share_id, sum(m.n / r.seconds)::float8 AS per_second, sum(m.units / r.seconds)::float8 AS units_per_s
FROM (
    SELECT id, least(@within_s::float8, greatest(1, extract(epoch FROM now() - (SELECT min(started_at) FROM daemons)))) AS seconds
    FROM daemons
    WHERE closed_at IS NULL OR closed_at > now() - make_interval(secs => @within_s::float8)
) d
CROSS JOIN generate_series(@first::int, @last::int) AS a (lane)
CROSS JOIN LATERAL (
    SELECT t.*, CASE WHEN t.n < @rows::int AND t.moves < @moves::int THEN d.seconds
        ELSE least(d.seconds, greatest(0.001, extract(epoch FROM now() - min(t.at) OVER ()))) END AS seconds
    FROM (
        SELECT l.*, count(*) OVER () AS n, sum(cardinality(l.task_ids)) OVER () AS moves,
            sum(cardinality(l.task_ids)) OVER (ORDER BY l.seq DESC) - cardinality(l.task_ids) AS later
        FROM (
            SELECT l.seq, l.at, l.task_ids, l.share_ids, l.queue_ids, l.befores, l.afters, l.ns, l.units
            FROM ledger l
            WHERE l.daemon_id = d.id AND l.lane = a.lane
            ORDER BY l.seq DESC LIMIT @rows::int
        ) l
        WHERE l.at > now() - make_interval(secs => @within_s::float8)
    ) t
    WHERE t.later < @moves::int
) r
-- Summed row by row: a sort of all moves would carry the arrays along.
CROSS JOIN LATERAL (
    SELECT coalesce(u.queue_id, r.queue_ids[1]) AS queue_id, coalesce(u.share_id, r.share_ids[1]) AS share_id,
        sum(coalesce(u.n, r.ns[1]))::float8 AS n, sum(coalesce(u.units, r.units[1]))::float8 AS units
    FROM unnest(r.task_ids, r.share_ids, r.queue_ids, r.befores, r.afters, r.ns, r.units)
        AS u (task_id, share_id, queue_id, before, after, n, units)
    WHERE coalesce(u.before, r.befores[1]) = 'l' AND coalesce(u.after, r.afters[1]) NOT IN ('l', '-')
    GROUP BY 1, 2
) m
GROUP BY m.queue_id, m.share_id;
