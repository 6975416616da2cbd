-- Shapes that are not known yet. By id alone a row that committed late would be missed.
SELECT id, cores, memory_mb, disk_mb, walltime_s, labels, queues, label, resources, sharing_id, claims,
    coalesce(locations, '{}') AS locations, coalesce(locality, '') AS locality,
    coalesce(user_name, '') AS user_name, coalesce(plain_id, id) AS plain_id
FROM shapes WHERE NOT id = ANY (@known::int[]);
