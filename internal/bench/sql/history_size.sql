-- MB of the partitions of history, with their indexes.
SELECT (sum(pg_total_relation_size(inhrelid)) / 1e6)::float8 FROM pg_inherits WHERE inhparent IN ('ended_jobs'::regclass, 'attempts'::regclass);
