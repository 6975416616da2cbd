-- What keeps dead rows from being removed, the oldest first: sessions, replication slots, prepared transactions.
SELECT * FROM (
    SELECT format('session %s (%s, %s)', pid, application_name, state) AS who, age(backend_xmin)::bigint AS xids,
        extract(epoch FROM now() - coalesce(xact_start, query_start))::float8 AS since_s
    FROM pg_stat_activity
    WHERE backend_xmin IS NOT NULL AND pid <> pg_backend_pid() AND backend_type IN ('client backend', 'walsender')
        AND (datname = current_database() OR backend_type = 'walsender')
    UNION ALL
    SELECT format('%s replication slot %s', CASE WHEN active THEN 'active' ELSE 'unused' END, slot_name), greatest(age(xmin), age(catalog_xmin))::bigint, NULL
    FROM pg_replication_slots WHERE xmin IS NOT NULL OR catalog_xmin IS NOT NULL
    UNION ALL
    SELECT format('prepared transaction %s', gid), age(transaction)::bigint, extract(epoch FROM now() - prepared)::float8
    FROM pg_prepared_xacts WHERE database = current_database()
) s
ORDER BY since_s DESC NULLS LAST, xids DESC
LIMIT 20;
