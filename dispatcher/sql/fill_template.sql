-- Claims that waited for a template have one now; their jobs are given the shape that says so.
WITH locked AS (
    SELECT id FROM resource_claims
    WHERE id = ANY (@ids::bigint[]) AND state = 'pending' AND template @> jsonb_build_object('name', @name::text, 'missing', true)
    ORDER BY id FOR UPDATE
)
UPDATE resource_claims c SET template = @template::jsonb, linger_s = @linger_s::float8, unplaced = true, placed_to = 0,
    changed = pg_current_xact_id()
FROM locked l WHERE c.id = l.id;
