-- Adds attempts that ended since the last time to what they cost by node. As times of batches never fall, no attempt that is folded
-- later ended before the last batch that is folded now. Whoever waited for another daemon goes on from where that one stopped, with its
-- own, older view of history: the row is updated whatever it was in that view, for it is locked.
-- Milliseconds count as in Go: begin and end each rounded down.
WITH span AS MATERIALIZED (
    SELECT r.at AS since, (SELECT f.at FROM folded f) AS until FROM rolled r FOR UPDATE
), costs AS (
    SELECT date_trunc('day', greatest(h.ended_at, h.granted_at), 'UTC') AS day, h.queue, h.node, h.outcome, h.units, h.cpu_ms,
        coalesce((l.entry -> 'need' ->> 'cores')::bigint, 0) AS cores,
        greatest(0, floor(extract(epoch FROM h.ended_at) * 1000) - floor(extract(epoch FROM h.granted_at) * 1000))::bigint AS ms
    FROM history h
    LEFT JOIN latest l ON l.kind = 'h' AND l.key = h.shape
    WHERE h.ended_at >= (SELECT since FROM span) AND h.ended_at < (SELECT until FROM span)
), added AS (
    INSERT INTO node_usage AS u (day, queue, node, slot_ms, unit_ms, wasted_slot_ms, cpu_ms, finished, failed, lost, cancelled, returned)
    SELECT day, queue, node, sum(cores * ms), sum(units * ms), coalesce(sum(cores * ms) FILTER (WHERE outcome IN ('x', 'l', 'r')), 0),
        sum(cpu_ms), count(*) FILTER (WHERE outcome = 'f'), count(*) FILTER (WHERE outcome = 'x'), count(*) FILTER (WHERE outcome = 'l'),
        count(*) FILTER (WHERE outcome = 'c'), count(*) FILTER (WHERE outcome = 'r')
    FROM costs GROUP BY day, queue, node ORDER BY day, queue, node
    ON CONFLICT (day, queue, node) DO UPDATE SET slot_ms = u.slot_ms + excluded.slot_ms, unit_ms = u.unit_ms + excluded.unit_ms,
        wasted_slot_ms = u.wasted_slot_ms + excluded.wasted_slot_ms, cpu_ms = u.cpu_ms + excluded.cpu_ms,
        finished = u.finished + excluded.finished, failed = u.failed + excluded.failed, lost = u.lost + excluded.lost,
        cancelled = u.cancelled + excluded.cancelled, returned = u.returned + excluded.returned
)
UPDATE rolled r SET at = s.until FROM span s WHERE r.only_row AND s.since < s.until;
