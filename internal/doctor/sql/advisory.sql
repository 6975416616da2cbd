-- Who holds our advisory locks, and who waits for them; that of the migrations has one key of 64 bits.
SELECT CASE l.objsubid WHEN 2 THEN l.classid ELSE l.objid END::bigint AS class, CASE l.objsubid WHEN 2 THEN l.objid ELSE 0 END::bigint AS id, l.granted, l.pid,
    coalesce(a.application_name, '') AS name, coalesce(a.state, '') AS state,
    coalesce(extract(epoch FROM now() - coalesce(l.waitstart, a.xact_start, a.state_change)), 0)::float8 AS since_s
FROM pg_locks l LEFT JOIN pg_stat_activity a ON a.pid = l.pid
WHERE l.locktype = 'advisory' AND l.pid <> pg_backend_pid() AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
ORDER BY since_s DESC, l.pid
LIMIT 1000;
