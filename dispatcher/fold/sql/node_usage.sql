-- All of node_usage, to be compared: keys that it lacks are zero.
SELECT (extract(epoch FROM day) * 1000)::bigint AS at_ms, 0::bigint AS task, 0 AS share, queue, node AS name,
    slot_ms, unit_ms, wasted_slot_ms, cpu_ms, finished, failed, lost, cancelled, returned
FROM node_usage;
