-- Usage by node, with what is not in the roll-up yet, of a database up to 0.10.
SELECT row_to_json(r)::text FROM (
    SELECT 'usage_node' AS kind, day, queue_id, node,
        sum(slot_seconds) AS slot_seconds, sum(wasted_slot_seconds) AS wasted_slot_seconds, sum(finished)::bigint AS finished,
        sum(failed)::bigint AS failed, sum(lost)::bigint AS lost, sum(cancelled)::bigint AS cancelled, sum(revoked)::bigint AS revoked
    FROM (
        SELECT day, queue_id, node, slot_seconds, wasted_slot_seconds, finished, failed, lost, cancelled, revoked
        FROM usage_nodes
        UNION ALL
        SELECT day, queue_id, node, slot_seconds, wasted_slot_seconds, finished, failed, lost, cancelled, revoked
        FROM uncounted_nodes
    ) both_parts
    GROUP BY day, queue_id, node
    ORDER BY day, queue_id, node
) r;
