-- What jobs of shapes may use.
SELECT s.id, s.cores, s.memory_mb, s.disk_mb, s.walltime_s FROM shapes s WHERE s.id = ANY (@shapes::int[]);
