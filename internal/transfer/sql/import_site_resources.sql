-- Records of the kind site_resource, as they come out of a file.
INSERT INTO site_resources (version, position, name, capacity, per_queue, keyed, split_by, external_expires)
SELECT r.version, r.position, r.name, r.capacity, r.per_queue, r.keyed, r.split_by, r.external_expires
FROM jsonb_to_recordset(@records::jsonb) AS r (version bigint, position int, name text, capacity bigint, per_queue boolean, keyed boolean, split_by text, external_expires interval);
