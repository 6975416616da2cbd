-- The tables that every job changes, as autovacuum sees them, and the oldest of what keeps dead rows from being removed: sessions with a snapshot, what
-- replicas and slots ask for, prepared transactions. Sessions of other roles are seen with pg_read_all_stats only.
SELECT c.relname::text AS name, s.n_live_tup AS live, s.n_dead_tup AS dead, s.vacuum_count + s.autovacuum_count AS vacuums,
    coalesce((SELECT option_value::bigint FROM pg_options_to_table(c.reloptions) WHERE option_name = 'autovacuum_vacuum_threshold'), 0) AS held_off,
    coalesce((
        SELECT o.xid::text
        FROM (
            SELECT backend_xmin AS xid FROM pg_stat_activity
            WHERE pid <> pg_backend_pid() AND backend_type IN ('client backend', 'walsender') AND (datname = current_database() OR backend_type = 'walsender')
            UNION ALL
            SELECT xmin FROM pg_replication_slots
            UNION ALL
            SELECT transaction FROM pg_prepared_xacts WHERE database = current_database()
        ) AS o
        WHERE o.xid IS NOT NULL
        ORDER BY age(o.xid) DESC
        LIMIT 1), '') AS oldest
FROM pg_class c JOIN pg_stat_user_tables s ON s.relid = c.oid
WHERE c.oid IN ('jobs'::regclass, 'leases'::regclass, 'ledger'::regclass, 'counters'::regclass, 'tasks'::regclass)
ORDER BY c.relname;
