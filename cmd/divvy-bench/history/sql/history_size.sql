-- MB of the partitions of history and of jobs, with their indexes.
SELECT (sum(pg_total_relation_size(inhrelid)) / 1e6)::float8 FROM pg_inherits
WHERE inhparent IN ('history'::regclass, 'jobs'::regclass, 'job_blocks'::regclass);
