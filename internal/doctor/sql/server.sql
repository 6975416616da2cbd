-- The server, and what is set for our sessions. reads_all: sessions of other roles are seen whole.
SELECT current_setting('server_version') AS version, current_setting('server_version_num')::int / 10000 AS major, pg_is_in_recovery() AS standby,
    clock_timestamp() AS now,
    current_setting('fsync') = 'on' AS fsync, current_setting('full_page_writes') = 'on' AS full_page_writes,
    current_setting('synchronous_commit') AS synchronous_commit, current_setting('synchronous_standby_names') AS synchronous_standbys,
    current_setting('autovacuum') = 'on' AS autovacuum, current_setting('track_counts') = 'on' AS track_counts,
    current_setting('max_connections')::int AS max_connections, current_setting('superuser_reserved_connections')::int AS reserved,
    (SELECT count(*)::int FROM pg_stat_activity WHERE backend_type = 'client backend') AS connections,
    (SELECT rolsuper OR pg_has_role('pg_read_all_stats', 'USAGE') FROM pg_roles WHERE rolname = current_user) AS reads_all,
    age(d.datfrozenxid)::bigint AS xids, current_setting('autovacuum_freeze_max_age')::bigint AS freeze_max_age
FROM pg_database d WHERE d.datname = current_database();
