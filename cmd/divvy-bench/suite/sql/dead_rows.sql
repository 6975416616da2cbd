-- Dead rows of the tables that claims and ends write, as PostgreSQL estimates them.
SELECT relname::text AS name, n_dead_tup::float8 AS dead FROM pg_stat_user_tables
WHERE relname IN ('held', 'idle_ranges', 'share_counts', 'task_counts') ORDER BY relname;
