-- Usage by day, with what is not in the roll-up yet, of a database up to 0.10.
SELECT row_to_json(r)::text FROM (
    SELECT 'usage_day' AS kind, day, share_id, queue_id, user_name,
        sum(slot_seconds) AS slot_seconds, sum(unit_seconds) AS unit_seconds, sum(wasted_slot_seconds) AS wasted_slot_seconds,
        sum(cpu_ms)::bigint AS cpu_ms, sum(finished)::bigint AS finished, sum(failed)::bigint AS failed, sum(lost)::bigint AS lost,
        sum(cancelled)::bigint AS cancelled, sum(revoked)::bigint AS revoked
    FROM (
        SELECT day, share_id, queue_id, user_name, slot_seconds, unit_seconds, wasted_slot_seconds, cpu_ms, finished, failed, lost, cancelled,
            revoked
        FROM usage_days
        UNION ALL
        SELECT day, share_id, queue_id, user_name, slot_seconds, unit_seconds, wasted_slot_seconds, cpu_ms, finished, failed, lost, cancelled,
            revoked
        FROM uncounted_days
    ) both_parts
    GROUP BY day, share_id, queue_id, user_name
    ORDER BY day, share_id, queue_id, user_name
) r;
