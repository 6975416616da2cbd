-- What claimers were given and have not taken: units of open orders, and of those closed a short while ago, beside what they were granted
-- since the first of these in queues of the pool.
WITH given AS (
    SELECT pool, claimer_id, coalesce(sum(units) FILTER (WHERE closed_at IS NULL), 0)::bigint AS open,
        coalesce(sum(units) FILTER (WHERE closed_at IS NOT NULL), 0)::bigint AS freed, min(ordered_at) AS since
    FROM reclaims
    WHERE closed_at IS NULL OR ordered_at > now() - interval '1 day' AND closed_at > now() - make_interval(secs => @settle_s::float8)
    GROUP BY pool, claimer_id
), sited AS (
    SELECT * FROM unnest(@queues::int[], @pools::text[]) AS s (queue, pool)
)
SELECT g.pool, g.claimer_id, g.open, g.freed, (
    (SELECT coalesce(sum(l.units), 0) FROM held l WHERE l.queue = ANY (ARRAY(SELECT s.queue FROM sited s WHERE s.pool = g.pool)) AND l.share = g.claimer_id AND l.granted_at > g.since)
    + (SELECT coalesce(sum(h.units), 0) FROM history h WHERE h.queue = ANY (ARRAY(SELECT s.queue FROM sited s WHERE s.pool = g.pool)) AND h.share = g.claimer_id AND h.ended_at > g.since AND h.granted_at > g.since)
)::bigint AS taken
FROM given g;
