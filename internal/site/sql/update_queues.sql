-- All queues of the new version as its file has them. Their states are not the file's business.
UPDATE queues AS q
SET name = n.name, pool = n.pool, slots = n.slots, core_power_milli = n.core_power_milli, cores = nullif(n.cores, 0),
    memory_mb = nullif(n.memory_mb, 0), disk_mb = nullif(n.disk_mb, 0), walltime_s = nullif(n.walltime_s, 0),
    labels = n.labels, prefer = n.prefer, position = n.position
FROM unnest(@ids::int[], @names::text[], @pools::text[], @slots::int[], @core_powers::bigint[], @cores::int[],
            @memories::bigint[], @disks::bigint[], @walltimes::bigint[], @labels::jsonb[], @prefers::text[], @positions::int[])
     AS n (id, name, pool, slots, core_power_milli, cores, memory_mb, disk_mb, walltime_s, labels, prefer, position)
WHERE q.id = n.id AND q.removed_in IS NULL
