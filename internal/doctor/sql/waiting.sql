-- Statements that wait for a lock for so long, and for whom. Their texts are nobody's business.
SELECT a.pid, a.application_name AS name, extract(epoch FROM now() - a.query_start)::float8 AS since_s,
    ARRAY(SELECT DISTINCT format('%s (%s, %s)', b.pid, b.application_name, b.state) FROM pg_stat_activity b WHERE b.pid = ANY (pg_blocking_pids(a.pid))) AS behind
FROM pg_stat_activity a
WHERE a.datname = current_database() AND a.wait_event_type = 'Lock' AND a.query_start < now() - make_interval(secs => @least_s::float8)
ORDER BY a.query_start
LIMIT 20;
