-- All of task_usage, to be compared: keys that it lacks are zero.
SELECT (extract(epoch FROM day) * 1000)::bigint AS at_ms, task, share, 0 AS queue, ''::text AS name,
    slot_ms, unit_ms, wasted_slot_ms, cpu_ms, finished, failed, lost, cancelled, returned
FROM task_usage;
