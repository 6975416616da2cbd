-- Rows of jobs that were read since the database was made, by scan or by index.
SELECT (coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::bigint FROM pg_stat_user_tables WHERE relname = 'jobs';
