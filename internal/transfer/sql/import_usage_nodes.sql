-- Records of the kind usage_node, as they come out of a file, which does not have their units and processor time: nothing shows those.
INSERT INTO node_usage (day, queue, node, slot_ms, unit_ms, wasted_slot_ms, cpu_ms, finished, failed, lost, cancelled, returned)
SELECT r.day::timestamp AT TIME ZONE 'UTC', r.queue_id, r.node, round(r.slot_seconds * 1000), 0, round(r.wasted_slot_seconds * 1000), 0, r.finished, r.failed, r.lost,
    r.cancelled, r.revoked
FROM jsonb_to_recordset(@records::jsonb) AS r (day date, queue_id int, node text, slot_seconds numeric, wasted_slot_seconds numeric, finished bigint, failed bigint, lost bigint,
    cancelled bigint, revoked bigint);
