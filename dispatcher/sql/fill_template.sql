-- Claims that waited for a template have one now; their jobs are given the shape that says so.
WITH locked AS (
    SELECT c.id, n.charge_id
    FROM unnest(@ids::bigint[], @charges::int[]) AS n (id, charge_id)
    JOIN resource_claims c ON c.id = n.id
    WHERE c.state = 'pending' AND c.template @> jsonb_build_object('name', @name::text, 'missing', true)
    ORDER BY c.id FOR UPDATE OF c
)
UPDATE resource_claims c SET template = @template::jsonb || jsonb_strip_nulls(jsonb_build_object('members', c.template -> 'members')), linger_s = @linger_s::float8,
    charge_id = l.charge_id, unplaced = true, placed_to = 0, changed = pg_current_xact_id()
FROM locked l WHERE c.id = l.id;
