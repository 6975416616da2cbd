-- Usage by node, with attempts that are not in the roll-up yet.
SELECT row_to_json(r)::text FROM (
    SELECT 'usage_node' AS kind, day, queue AS queue_id, node, sum(slot_ms) * 0.001000 AS slot_seconds, sum(wasted_slot_ms) * 0.001000 AS wasted_slot_seconds,
        sum(finished)::bigint AS finished, sum(failed)::bigint AS failed, sum(lost)::bigint AS lost, sum(cancelled)::bigint AS cancelled,
        sum(returned)::bigint AS revoked
    FROM (
        SELECT (day AT TIME ZONE 'UTC')::date AS day, queue, node, slot_ms::numeric, wasted_slot_ms::numeric, finished, failed, lost, cancelled, returned
        FROM node_usage
        UNION ALL
        SELECT (greatest(a.ended_at, a.granted_at) AT TIME ZONE 'UTC')::date, a.queue, a.node, b.ms,
            CASE WHEN a.outcome IN ('x', 'l', 'r') THEN b.ms ELSE 0 END, (a.outcome = 'f')::int, (a.outcome = 'x')::int, (a.outcome = 'l')::int,
            (a.outcome = 'c')::int, (a.outcome = 'r')::int
        FROM history a
        JOIN shapes h ON h.id = a.shape
        CROSS JOIN LATERAL (
            SELECT h.cores * (floor(extract(epoch FROM greatest(a.ended_at, a.granted_at)) * 1000) - floor(extract(epoch FROM a.granted_at) * 1000)) AS ms
        ) b
        WHERE a.ended_at >= (SELECT r.at FROM rolled r)
    ) both_parts
    GROUP BY day, queue, node
    ORDER BY day, queue, node
) r;
