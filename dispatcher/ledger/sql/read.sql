-- Up to so many batches after one, in order. The bound above prunes partitions, which a LIMIT does not; seq has no gaps.
SELECT seq, id, after, at, by, kinds,
    granted_jobs, granted_attempts, granted_nonces, granted_tasks, granted_shares, granted_shapes, granted_places,
    granted_queues, granted_units, granted_pilots, granted_nodes, granted_requests,
    ended_jobs, ended_attempts, ended_outcomes, ended_next, ended_exit_codes, ended_cpu_milli, ended_memory_mb,
    started_jobs, started_attempts, started_ttls, rare
FROM batches
WHERE seq > @seq::bigint AND seq <= @seq::bigint + @most::int
ORDER BY seq;
