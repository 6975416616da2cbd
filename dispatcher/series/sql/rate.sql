-- What shares were promised and given in one hour that is over. A sample counts until the next one, for ten minutes at the
-- most; the last one before the hour counts into it. Made again it comes to the same. Bounds are parameters, so that only days that
-- have such samples are read.
WITH samples AS MATERIALIZED (
    SELECT h.pool, h.share_id, h.at, h.target, h.held / 1000.0::float8 AS held, h.ready, greatest(h.at, @hour::timestamptz) AS since,
        least(lead(h.at, 1, @hour::timestamptz + interval '1 hour') OVER (PARTITION BY h.share_id, h.pool ORDER BY h.at),
            h.at + interval '10 minutes', @hour::timestamptz + interval '1 hour') AS until
    FROM share_samples h
    WHERE h.at >= @hour::timestamptz - interval '10 minutes' AND h.at < @hour::timestamptz + interval '1 hour'
), active AS (
    -- Minutes in which somebody of the pool held something: else nobody starves, there are no pilots. Samples of one moment are
    -- some microseconds apart.
    SELECT pool, date_trunc('minute', at) AS minute
    FROM samples
    WHERE held > 0
    GROUP BY pool, date_trunc('minute', at)
), pieces AS (
    -- Starving means the same as for the metric divvy_shares_starving.
    SELECT m.pool, m.share_id, m.target, m.held, m.ready, extract(epoch FROM m.until - m.since)::float8 AS s,
        m.target >= 1 AND m.held = 0 AND m.ready > 0 AND a.pool IS NOT NULL AS starves
    FROM samples m LEFT JOIN active a ON a.pool = m.pool AND a.minute = date_trunc('minute', m.at)
    WHERE m.until > m.since
), hours AS (
    INSERT INTO fairness_hours AS f (hour, pool, share_id, seconds, target_seconds, held_seconds, missed_seconds, starved_seconds, busy_seconds)
    SELECT @hour::timestamptz, pool, share_id, sum(s), sum(target * s), sum(held * s),
        coalesce(sum((target - held) * s) FILTER (WHERE target > held AND ready > 0), 0),
        coalesce(sum(s) FILTER (WHERE starves), 0), coalesce(sum(s) FILTER (WHERE held > 0 OR ready > 0), 0)
    FROM pieces GROUP BY pool, share_id
    ON CONFLICT (hour, pool, share_id) DO UPDATE SET seconds = excluded.seconds, target_seconds = excluded.target_seconds,
        held_seconds = excluded.held_seconds, missed_seconds = excluded.missed_seconds, starved_seconds = excluded.starved_seconds,
        busy_seconds = excluded.busy_seconds
    RETURNING share_id
)
SELECT count(*)::int FROM hours;
