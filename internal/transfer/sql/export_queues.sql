-- Every queue, removed ones too.
SELECT row_to_json(r)::text FROM (
    SELECT 'queue' AS kind, id, name, pool, state, slots, core_power_milli, cores, memory_mb, disk_mb, walltime_s, labels, prefer, position, removed_in
    FROM queues
    ORDER BY id
) r;
