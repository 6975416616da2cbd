-- The same attempts by node, in the transaction that adds them to the rest. Names are cut as attempt_pieces does: rows of before they
-- were bounded may have some that the index does not take.
WITH a AS (
    SELECT a.queue_id, left(a.node, 200) AS node, a.cores, a.outcome, a.claimed_at, greatest(a.ended_at, a.claimed_at) AS ended_at
    FROM attempts a WHERE @past::timestamptz IS NULL AND a.nth > @done::bigint AND a.nth <= @upto::bigint
    UNION ALL
    SELECT a.queue_id, left(a.node, 200) AS node, a.cores, a.outcome, a.claimed_at, greatest(a.ended_at, a.claimed_at)
    FROM attempts a
    WHERE a.nth IS NULL AND a.ended_at >= @past::timestamptz AND a.ended_at < @past::timestamptz + interval '1 hour'
)
INSERT INTO usage_nodes AS u (day, queue_id, node, slot_seconds, wasted_slot_seconds, finished, failed, lost, cancelled, revoked)
SELECT (ended_at AT TIME ZONE 'UTC')::date, queue_id, node, sum(cores * extract(epoch FROM ended_at - claimed_at)),
    coalesce(sum(cores * extract(epoch FROM ended_at - claimed_at)) FILTER (WHERE outcome IN ('failed', 'lost', 'revoked')), 0),
    count(*) FILTER (WHERE outcome = 'finished'), count(*) FILTER (WHERE outcome = 'failed'), count(*) FILTER (WHERE outcome = 'lost'),
    count(*) FILTER (WHERE outcome = 'cancelled'), count(*) FILTER (WHERE outcome = 'revoked')
FROM a
GROUP BY (ended_at AT TIME ZONE 'UTC')::date, queue_id, node
ON CONFLICT (day, queue_id, node) DO UPDATE SET slot_seconds = u.slot_seconds + excluded.slot_seconds,
    wasted_slot_seconds = u.wasted_slot_seconds + excluded.wasted_slot_seconds, finished = u.finished + excluded.finished,
    failed = u.failed + excluded.failed, lost = u.lost + excluded.lost, cancelled = u.cancelled + excluded.cancelled,
    revoked = u.revoked + excluded.revoked;
