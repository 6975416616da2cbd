-- Shapes that are not known yet. By id alone a row that committed late would be missed.
SELECT id, cores, memory_mb, disk_mb, walltime_s, labels, queues, label, resources, sharing_id FROM shapes WHERE NOT id = ANY (@known::int[]);
