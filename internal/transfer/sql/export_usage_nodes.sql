-- Usage by node, with attempts that ended since it was made.
SELECT row_to_json(r)::text FROM (
    SELECT 'usage_node' AS kind, day, queue AS queue_id, node,
        sum(slot_ms) * 0.001 AS slot_seconds, sum(wasted_slot_ms) * 0.001 AS wasted_slot_seconds, sum(finished)::bigint AS finished,
        sum(failed)::bigint AS failed, sum(lost)::bigint AS lost, sum(cancelled)::bigint AS cancelled, sum(returned)::bigint AS revoked
    FROM (
        SELECT (day AT TIME ZONE 'UTC')::date AS day, queue, node, slot_ms, wasted_slot_ms, finished, failed, lost, cancelled, returned FROM node_usage
        UNION ALL
        SELECT (a.ended_at AT TIME ZONE 'UTC')::date, a.queue, a.node, h.cores * a.ms, CASE WHEN a.outcome IN ('x', 'l', 'r') THEN h.cores * a.ms ELSE 0 END,
            (a.outcome = 'f')::int, (a.outcome = 'x')::int, (a.outcome = 'l')::int, (a.outcome = 'c')::int, (a.outcome = 'r')::int
        FROM (
            SELECT greatest(ended_at, granted_at) AS ended_at, queue, node, shape, outcome,
                floor(extract(epoch FROM greatest(ended_at, granted_at)) * 1000) - floor(extract(epoch FROM granted_at) * 1000) AS ms
            FROM history
            WHERE history.ended_at >= (SELECT at FROM rolled)
        ) a
        JOIN shapes h ON h.id = a.shape
    ) both_parts
    GROUP BY day, queue, node
    ORDER BY day, queue, node
) r;
