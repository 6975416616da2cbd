-- All of hour_usage, to be compared: keys that it lacks are zero.
SELECT (extract(epoch FROM hour) * 1000)::bigint AS at_ms, 0::bigint AS task, share, queue, user_name AS name,
    slot_ms, unit_ms, wasted_slot_ms, cpu_ms, finished, failed, lost, cancelled, returned
FROM hour_usage;
