-- Records of the kind usage_day, as they come out of a file.
INSERT INTO day_usage (day, share, queue, user_name, slot_ms, unit_ms, wasted_slot_ms, cpu_ms, finished, failed, lost, cancelled, returned)
SELECT r.day::timestamp AT TIME ZONE 'UTC', r.share_id, r.queue_id, r.user_name, round(r.slot_seconds * 1000), round(r.unit_seconds * 1000000), round(r.wasted_slot_seconds * 1000),
    r.cpu_ms, r.finished, r.failed, r.lost, r.cancelled, r.revoked
FROM jsonb_to_recordset(@records::jsonb) AS r (day date, share_id int, queue_id int, user_name text, slot_seconds numeric, unit_seconds numeric, wasted_slot_seconds numeric,
    cpu_ms bigint, finished bigint, failed bigint, lost bigint, cancelled bigint, revoked bigint);
