-- Records of the kind queue, as they come out of a file.
INSERT INTO queues (id, name, pool, state, slots, core_power_milli, cores, memory_mb, disk_mb, walltime_s, labels, prefer, position, removed_in) OVERRIDING SYSTEM VALUE
SELECT r.id, r.name, r.pool, r.state, r.slots, r.core_power_milli, r.cores, r.memory_mb, r.disk_mb, r.walltime_s, r.labels, r.prefer,
    r.position, r.removed_in
FROM jsonb_to_recordset(@records::jsonb) AS r (id int, name text, pool text, state text, slots int, core_power_milli bigint, cores int, memory_mb bigint, disk_mb bigint,
    walltime_s bigint, labels jsonb, prefer text, position int, removed_in bigint);
