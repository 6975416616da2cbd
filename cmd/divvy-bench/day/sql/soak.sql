-- What the database weighs and has left to clear away: MB of the tables of what lives and of their indexes, of what is
-- written and dropped again (the log, steps of the fold, the outbox), of history and jobs; dead rows, as PostgreSQL estimates them;
-- bytes of WAL so far, and vacuums of the live tables.
WITH live AS (
    SELECT unnest(ARRAY['held', 'idle_ranges', 'tasks', 'task_counts', 'share_counts', 'expected', 'latest', 'shapes', 'payloads'])::regclass AS t
), passing AS (
    SELECT unnest(ARRAY['batches', 'steps', 'outbox', 'retries', 'judgements', 'share_samples', 'replay_checkpoints'])::regclass AS t
)
SELECT (SELECT sum(pg_table_size(t)) / 1e6 FROM live)::float8 AS tables_mb,
    (SELECT sum(pg_indexes_size(t)) / 1e6 FROM live)::float8 AS indexes_mb,
    (SELECT sum(pg_total_relation_size(coalesce(p.relid, t))) / 1e6 FROM passing LEFT JOIN LATERAL pg_partition_tree(t) p ON true)::float8 AS passing_mb,
    (SELECT sum(pg_total_relation_size(inhrelid)) / 1e6 FROM pg_inherits
        WHERE inhparent IN ('history'::regclass, 'attempt_texts'::regclass, 'jobs'::regclass, 'job_blocks'::regclass))::float8 AS history_mb,
    (SELECT n_dead_tup FROM pg_stat_user_tables WHERE relid = 'idle_ranges'::regclass)::float8 AS dead_ranges,
    (SELECT n_dead_tup FROM pg_stat_user_tables WHERE relid = 'held'::regclass)::float8 AS dead_leases,
    (SELECT sum(autovacuum_count + vacuum_count) FROM pg_stat_user_tables WHERE relid IN (SELECT t FROM live))::float8 AS vacuums,
    pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 / 1e6 AS wal_mb;
