-- The batches after one, in order, by the primary key alone.
SELECT seq, id, after, at, by, kinds,
    granted_jobs, granted_attempts, granted_nonces, granted_tasks, granted_shares, granted_shapes, granted_places,
    granted_queues, granted_units, granted_pilots, granted_nodes, granted_requests,
    ended_jobs, ended_attempts, ended_outcomes, ended_next, ended_exit_codes, ended_cpu_milli, ended_memory_mb,
    started_jobs, started_attempts, rare
FROM batches
WHERE seq > @seq::bigint
ORDER BY seq
LIMIT @most::int;
