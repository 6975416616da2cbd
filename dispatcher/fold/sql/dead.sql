-- Rows of counts and sums that are dead and could not be removed yet, as far as the server's statistics have heard of them.
SELECT coalesce(sum(n_dead_tup), 0)::bigint FROM pg_stat_user_tables
WHERE relname IN ('share_counts', 'task_counts', 'hour_usage', 'day_usage', 'task_usage') AND schemaname = 'public';
