-- Questions of operators to the database: psql -f runs all of them. Tests run each.

-- Which settings does this server have?
SELECT name, setting, unit, source FROM pg_settings
WHERE name IN ('shared_buffers', 'max_wal_size', 'checkpoint_timeout', 'wal_compression', 'synchronous_commit', 'fsync',
    'full_page_writes', 'commit_delay', 'jit', 'random_page_cost', 'autovacuum_naptime', 'autovacuum_vacuum_cost_limit',
    'max_connections', 'idle_in_transaction_session_timeout')
ORDER BY name;

-- What holds a snapshot?
SELECT 'session' AS what, pid::text AS who, coalesce(application_name, '') AS name, state, age(backend_xmin) AS xids, now() - xact_start AS since
FROM pg_stat_activity WHERE backend_xmin IS NOT NULL AND pid <> pg_backend_pid()
UNION ALL
SELECT 'slot', slot_name, coalesce(plugin, ''), CASE WHEN active THEN 'active' ELSE 'unused' END, greatest(age(xmin), age(catalog_xmin)), NULL
FROM pg_replication_slots WHERE xmin IS NOT NULL OR catalog_xmin IS NOT NULL
UNION ALL
SELECT 'prepared', gid, owner, 'prepared', age(transaction), now() - prepared FROM pg_prepared_xacts
ORDER BY xids DESC;

-- How many rows are dead, and how many updates are HOT?
SELECT relname, n_live_tup AS live, n_dead_tup AS dead, round(100.0 * n_tup_hot_upd / nullif(n_tup_upd, 0)) AS hot,
    pg_size_pretty(pg_total_relation_size(relid)) AS size, autovacuum_count AS vacuums, last_autovacuum
FROM pg_stat_user_tables
WHERE relname IN ('held', 'idle_ranges', 'over_ranges', 'task_counts', 'share_counts', 'tasks', 'outbox', 'claims')
ORDER BY relname;

-- Which partitions are there, and how large?
SELECT i.inhparent::regclass AS parent, c.relname AS partition, c.reltuples::bigint AS rows, pg_size_pretty(pg_total_relation_size(c.oid)) AS size
FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
WHERE i.inhparent IN ('batches'::regclass, 'jobs'::regclass, 'job_blocks'::regclass, 'history'::regclass, 'attempt_texts'::regclass,
    'share_samples'::regclass, 'payload_logs'::regclass)
ORDER BY 1, 2;

-- How far are the tables behind the log?
SELECT newest_seq - folded_seq AS batches, behind_seconds FROM report.freshness;

-- Which reclaims are under way?
SELECT claimer, victim, state, count(*) AS jobs, sum(units) AS units, min(ordered_at) AS since
FROM report.reclaims WHERE closed_at IS NULL GROUP BY claimer, victim, state ORDER BY claimer, victim, state;

-- What did reclaims cost in the last day?
SELECT claimer, victim, count(*) AS jobs, sum(lost_unit_seconds) / 3600 AS unit_hours_lost
FROM report.reclaims WHERE state = 'revoked' AND ordered_at > now() - interval '1 day' GROUP BY claimer, victim ORDER BY unit_hours_lost DESC;

-- With what do attempts fail at a queue?
SELECT node, outcome, exit_code, message, count(*) AS attempts
FROM report.attempts WHERE queue = 'CERN' AND ended_at > now() - interval '1 hour' GROUP BY 1, 2, 3, 4 ORDER BY 5 DESC;

-- Where are attempts lost?
SELECT queue, node, count(*) AS attempts
FROM report.attempts WHERE outcome = 'lost' AND ended_at > now() - interval '1 hour' GROUP BY 1, 2 ORDER BY 3 DESC;

-- Which daemon led last?
SELECT host, address, seen_at FROM daemons WHERE id = (SELECT by FROM report.ledger ORDER BY seq DESC LIMIT 1);

-- What do sessions wait for, and for which?
SELECT pid, application_name, state, wait_event_type, wait_event, now() - state_change AS since, pg_blocking_pids(pid) AS blocked_by, query
FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() ORDER BY state, since DESC;
