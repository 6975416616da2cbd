-- Records of the kind share, as they come out of a file.
INSERT INTO shares (id, parent_id, name, path, position, leaf, weight, tier, plan, removed_in) OVERRIDING SYSTEM VALUE
SELECT r.id, r.parent_id, r.name, r.path, r.position, r.leaf, r.weight, r.tier, r.plan, r.removed_in
FROM jsonb_to_recordset(@records::jsonb) AS r (id int, parent_id int, name text, path text, position int, leaf boolean, weight double precision, tier int, plan jsonb,
    removed_in bigint);
