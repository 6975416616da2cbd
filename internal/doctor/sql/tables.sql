-- The tables that change all the time, as autovacuum sees them.
SELECT c.relname::text AS name, greatest(s.n_live_tup, 0) AS live, greatest(s.n_dead_tup, 0) AS dead, pg_total_relation_size(c.oid) AS bytes,
    extract(epoch FROM now() - greatest(s.last_autovacuum, s.last_vacuum))::float8 AS vacuumed_s,
    coalesce((SELECT option_value::boolean FROM pg_options_to_table(c.reloptions) WHERE option_name = 'autovacuum_enabled'), true) AS autovacuum
FROM pg_class c JOIN pg_stat_user_tables s ON s.relid = c.oid
WHERE c.relnamespace = 'public'::regnamespace AND c.relname IN ('held', 'idle_ranges', 'over_ranges', 'kills', 'outbox', 'task_counts', 'share_counts', 'end_counts', 'folded', 'latest', 'expected',
    'claims', 'claim_parties', 'claim_jobs', 'tasks', 'retries', 'judged', 'reclaims', 'daemons', 'hour_usage', 'day_usage', 'task_usage', 'node_usage', 'wait_hours', 'user_wait_hours')
ORDER BY c.relname;
