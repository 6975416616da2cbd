-- Resources as they stand now; times do not matter.
SELECT resource, key, queue, capacity, held_units, wanted_units, external_total, external_used
FROM report.resources
WHERE @since::timestamptz IS NOT NULL
ORDER BY resource, key, queue;
