-- What shares were promised and given.
SELECT row_to_json(r)::text FROM (
    SELECT 'fairness_hour' AS kind, hour, pool, share_id, seconds, target_seconds, held_seconds, missed_seconds, starved_seconds, busy_seconds
    FROM fairness_hours
    ORDER BY hour, pool, share_id
) r;
