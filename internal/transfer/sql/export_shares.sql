-- Every share, a parent before its children: removed ones too, since history refers to them.
WITH RECURSIVE depths (id, depth) AS (
    SELECT id, 0 FROM shares WHERE parent_id IS NULL
    UNION ALL
    SELECT s.id, d.depth + 1 FROM shares s JOIN depths d ON d.id = s.parent_id
)
SELECT row_to_json(r)::text FROM (
    SELECT 'share' AS kind, s.id, s.parent_id, s.name, s.path, s.position, s.leaf, s.weight, s.tier, s.plan, s.removed_in
    FROM shares s
    JOIN depths d USING (id)
    ORDER BY d.depth, s.id
) r;
