-- Finds or makes a shape. The first branch serves nearly every call without a write.
WITH found AS (
    SELECT id FROM shapes WHERE key = @key::bytea
), made AS (
    INSERT INTO shapes (key, cores, memory_mb, disk_mb, walltime_s, labels, queues, label, resources, sharing_id, claims, locations, locality)
    SELECT @key::bytea, @cores::int, @memory_mb::bigint, @disk_mb::bigint, @walltime_s::bigint, @labels::jsonb, @queues::text[], @label::text,
        @resources::jsonb, @sharing_id::text, @claims::jsonb, @locations::text[], nullif(@locality::text, '')
    WHERE NOT EXISTS (SELECT FROM found)
    -- A no-op update, so that a row which another transaction has just made is returned too.
    ON CONFLICT (key) DO UPDATE SET cores = excluded.cores
    RETURNING id
)
SELECT id FROM found UNION ALL SELECT id FROM made;
