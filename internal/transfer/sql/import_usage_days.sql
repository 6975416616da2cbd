-- Records of the kind usage_day, as they come out of a file.
INSERT INTO usage_days (day, share_id, queue_id, user_name, slot_seconds, unit_seconds, wasted_slot_seconds, cpu_ms, finished, failed, lost, cancelled,
    revoked)
SELECT r.day, r.share_id, r.queue_id, r.user_name, r.slot_seconds, r.unit_seconds, r.wasted_slot_seconds, r.cpu_ms, r.finished, r.failed,
    r.lost, r.cancelled, r.revoked
FROM jsonb_to_recordset(@records::jsonb) AS r (day date, share_id int, queue_id int, user_name text, slot_seconds numeric, unit_seconds numeric, wasted_slot_seconds numeric,
    cpu_ms bigint, finished bigint, failed bigint, lost bigint, cancelled bigint, revoked bigint);
