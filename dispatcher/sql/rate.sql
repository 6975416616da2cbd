-- What shares were promised and given in one hour that is over. A sample counts until the next one, for ten minutes at the
-- most; the last one before the hour counts into it. Made again it comes to the same.
WITH span AS (
    SELECT @hour::timestamptz AS since, @hour::timestamptz + interval '1 hour' AS until
), samples AS (
    SELECT h.pool, h.share_id, h.target, h.held / 1000.0::float8 AS held, h.ready, greatest(h.at, s.since) AS since,
        least(lead(h.at, 1, s.until) OVER (PARTITION BY h.share_id, h.pool ORDER BY h.at), h.at + interval '10 minutes', s.until) AS until
    FROM span s JOIN share_samples h ON h.at >= s.since - interval '10 minutes' AND h.at < s.until
), pieces AS (
    SELECT pool, share_id, target, held, ready, extract(epoch FROM until - since)::float8 AS s FROM samples WHERE until > since
), rated AS (
    INSERT INTO fairness_hours AS f (hour, pool, share_id, seconds, target_seconds, held_seconds, missed_seconds, starved_seconds, busy_seconds)
    SELECT @hour::timestamptz, pool, share_id, sum(s), sum(target * s), sum(held * s),
        coalesce(sum((target - held) * s) FILTER (WHERE target > held AND ready > 0), 0),
        coalesce(sum(s) FILTER (WHERE target > 0 AND held = 0 AND ready > 0), 0), coalesce(sum(s) FILTER (WHERE held > 0 OR ready > 0), 0)
    FROM pieces GROUP BY pool, share_id
    ON CONFLICT (hour, pool, share_id) DO UPDATE SET seconds = excluded.seconds, target_seconds = excluded.target_seconds,
        held_seconds = excluded.held_seconds, missed_seconds = excluded.missed_seconds, starved_seconds = excluded.starved_seconds,
        busy_seconds = excluded.busy_seconds
    RETURNING share_id
), state AS (
    UPDATE usage_state SET rated = @hour::timestamptz + interval '1 hour'
)
SELECT count(*)::int FROM rated;
