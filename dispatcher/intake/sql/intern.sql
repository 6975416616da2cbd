-- Finds or makes shapes, in the order of their keys. The first branch serves nearly every call without a write. One that another
-- transaction has made since the statement began is not among the rows.
WITH wanted AS (
    SELECT k.key, s.cores, s.memory_mb, s.disk_mb, s.walltime_s, s.labels, coalesce(s.queues, '{}') AS queues, coalesce(s.label, '') AS label,
        coalesce(s.resources, '{}') AS resources, coalesce(s.sharing_id, '') AS sharing_id, s.locations, s.locality,
        coalesce(s.containers, false) AS containers
    FROM ROWS FROM (unnest(@keys::bytea[]), jsonb_to_recordset(@shapes::jsonb) AS (cores int, memory_mb bigint, disk_mb bigint,
        walltime_s bigint, labels jsonb, queues text[], label text, resources jsonb, sharing_id text, locations text[], locality text,
        containers boolean)) AS s (key, cores, memory_mb, disk_mb, walltime_s, labels, queues, label, resources, sharing_id, locations, locality,
        containers)
    CROSS JOIN LATERAL (SELECT s.key) AS k (key)
), found AS (
    SELECT s.id, s.key FROM shapes s WHERE s.key = ANY (@keys::bytea[])
), made AS (
    INSERT INTO shapes (key, cores, memory_mb, disk_mb, walltime_s, labels, queues, label, resources, sharing_id, locations, locality,
        containers)
    SELECT w.* FROM wanted w WHERE NOT EXISTS (SELECT FROM found f WHERE f.key = w.key) ORDER BY w.key
    ON CONFLICT (key) DO NOTHING
    RETURNING id, key
)
SELECT id, key, false AS fresh FROM found UNION ALL SELECT id, key, true FROM made ORDER BY id;
