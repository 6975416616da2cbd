-- Rows of jobs, of ranges of them and of leases that were read since the database was made, by scan or by index.
SELECT sum(coalesce(s.seq_tup_read, 0) + coalesce(s.idx_tup_fetch, 0))::bigint
FROM pg_stat_user_tables s
WHERE s.relname IN ('held', 'idle_ranges')
    OR s.relid IN (SELECT inhrelid FROM pg_inherits WHERE inhparent IN ('jobs'::regclass, 'job_blocks'::regclass));
