-- Records of the kind usage_node, as they come out of a file.
INSERT INTO usage_nodes (day, queue_id, node, slot_seconds, wasted_slot_seconds, finished, failed, lost, cancelled, revoked)
SELECT r.day, r.queue_id, r.node, r.slot_seconds, r.wasted_slot_seconds, r.finished, r.failed, r.lost, r.cancelled, r.revoked
FROM jsonb_to_recordset(@records::jsonb) AS r (day date, queue_id int, node text, slot_seconds numeric, wasted_slot_seconds numeric, finished bigint, failed bigint, lost bigint,
    cancelled bigint, revoked bigint);
