-- Tasks whose counts of live jobs, with the moves to come, differ from a recount; the first twenty. It reads all live jobs.
WITH tail AS (
    SELECT m.task_id, coalesce(m.before, t.befores[1]) AS before, coalesce(m.after, t.afters[1]) AS after, coalesce(m.n, t.ns[1]) AS n
    FROM ledger_lanes a
    LEFT JOIN task_lanes k USING (daemon_id, lane)
    CROSS JOIN LATERAL (
        SELECT l.task_ids, l.befores, l.afters, l.ns FROM ledger l
        WHERE l.daemon_id = a.daemon_id AND l.lane = a.lane AND l.seq > coalesce(k.seq, 0)
    ) t
    CROSS JOIN LATERAL unnest(t.task_ids, t.befores, t.afters, t.ns) AS m (task_id, before, after, n)
)
SELECT x.id
FROM (
    SELECT id, n_waiting AS waiting, n_ready AS ready, n_leased AS leased FROM tasks WHERE ended_at IS NULL
    UNION ALL
    SELECT task_id, (after = 'w')::int * n - (before = 'w')::int * n, (after = 'r')::int * n - (before = 'r')::int * n, (after = 'l')::int * n - (before = 'l')::int * n
    FROM tail WHERE before <> after
    UNION ALL
    SELECT j.task_id, -count(*) FILTER (WHERE j.state = 'waiting' AND l.job_id IS NULL), -count(*) FILTER (WHERE j.state = 'ready' AND l.job_id IS NULL), -count(l.job_id)
    FROM jobs j LEFT JOIN leases l ON l.job_id = j.id
    GROUP BY j.task_id
) x
JOIN tasks t ON t.id = x.id AND t.ended_at IS NULL
GROUP BY x.id
HAVING sum(x.waiting) <> 0 OR sum(x.ready) <> 0 OR sum(x.leased) <> 0
ORDER BY x.id
LIMIT 20;
