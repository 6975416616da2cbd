-- New shares get their ids; update_shares fills in the rest.
INSERT INTO shares (name, path, position, leaf, weight)
SELECT n.path, n.path, 0, false, 0
FROM unnest(@paths::text[]) AS n (path)
RETURNING id, path
