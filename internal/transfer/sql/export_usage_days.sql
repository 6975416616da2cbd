-- Usage by day, as it is folded.
SELECT row_to_json(r)::text FROM (
    SELECT 'usage_day' AS kind, (day AT TIME ZONE 'UTC')::date AS day, share AS share_id, queue AS queue_id, user_name,
        slot_ms * 0.001 AS slot_seconds, unit_ms * 0.000001 AS unit_seconds, wasted_slot_ms * 0.001 AS wasted_slot_seconds, cpu_ms,
        finished, failed, lost, cancelled, returned AS revoked
    FROM day_usage
    ORDER BY 2, share, queue, user_name
) r;
