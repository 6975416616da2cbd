-- The resources of every version.
SELECT row_to_json(r)::text FROM (
    SELECT 'site_resource' AS kind, version, position, name, capacity, per_queue, keyed, split_by, external_expires
    FROM site_resources
    ORDER BY version, name
) r;
