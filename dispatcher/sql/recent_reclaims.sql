-- What claimers were given and have not taken: units of open orders, and of those closed a short while ago, beside
-- what they were granted since the first of these: by leases that live, and where these are less than came free, by the last
-- grants of each daemon too, whatever became of them. Of these no more are read than were made since units came free.
WITH given AS (
    SELECT pool, claimer_id, coalesce(sum(units) FILTER (WHERE closed_at IS NULL), 0)::bigint AS open,
        coalesce(sum(units) FILTER (WHERE closed_at IS NOT NULL), 0)::bigint AS freed, min(ordered_at) AS since
    FROM reclaims
    WHERE closed_at IS NULL OR ordered_at > now() - interval '1 day' AND closed_at > now() - make_interval(secs => @settle_s::float8)
    GROUP BY pool, claimer_id
)
SELECT g.pool, g.claimer_id, g.open, g.freed, CASE WHEN t.taken >= g.freed THEN t.taken ELSE greatest(t.taken, (
    SELECT coalesce(sum(coalesce(u.units, l.units[1])), 0)::bigint
    FROM daemons d
    CROSS JOIN generate_series(@first::int, @last::int) AS a (lane)
    CROSS JOIN LATERAL (
        SELECT * FROM ledger l WHERE l.daemon_id = d.id AND l.lane = a.lane ORDER BY l.seq DESC LIMIT @rows::int
    ) l
    CROSS JOIN LATERAL unnest(l.task_ids, l.share_ids, l.units) AS u (task_id, share_id, units)
    WHERE (d.closed_at IS NULL OR d.closed_at > g.since)
        AND l.at > greatest(g.since, now() - 2 * make_interval(secs => @settle_s::float8))
        AND g.claimer_id = ANY (l.share_ids) AND coalesce(u.share_id, l.share_ids[1]) = g.claimer_id
)) END AS taken
FROM given g
CROSS JOIN LATERAL (
    SELECT coalesce(sum(l.units), 0)::bigint AS taken FROM leases l WHERE l.share_id = g.claimer_id AND l.claimed_at > g.since
) t;
