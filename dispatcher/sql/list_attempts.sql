-- All attempts of a job, the running one last.
SELECT a.attempt, coalesce(q.name, '') AS queue, a.pilot, a.node, a.state, a.claimed_at, a.started_at, a.ended_at,
    a.exit_code, a.message, a.cpu_s AS cpus, a.memory_mb, a.outputs, a.report, a.judged, a.ending
FROM (
    SELECT attempt, queue_id, pilot, node, outcome AS state, claimed_at, started_at, ended_at, exit_code, message, cpu_s,
        memory_mb, outputs, report, coalesce(judged, '') AS judged, '' AS ending
    FROM attempts WHERE job_id = @job::bigint
    UNION ALL
    SELECT attempt, queue_id, pilot, node, state, claimed_at, started_at, NULL, NULL, '', cpu_s, memory_mb, NULL,
        (SELECT r.report FROM lease_reports r WHERE r.job_id = l.job_id AND r.attempt = l.attempt), '',
        coalesce(cancel_reason, CASE WHEN reclaim_grace_s IS NOT NULL THEN 'reclaimed' END, '')
    FROM leases l WHERE job_id = @job::bigint
) a
LEFT JOIN queues q ON q.id = a.queue_id
ORDER BY a.attempt;
