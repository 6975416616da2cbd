-- Tasks whose counts of jobs differ from a recount of leases, jobs without one, and those that are over.
SELECT count(*) FROM (
    SELECT FROM (
        SELECT task, ready, paused, waiting, held, finished, failed, cancelled FROM task_counts
        UNION ALL
        SELECT task, -(state = 'r')::int * n, -(state = 'p')::int * n, -(state = 'w')::int * n, 0, 0, 0, 0
        FROM (SELECT task, state, high - low + 1 AS n FROM idle_ranges) idle
        UNION ALL
        SELECT task, 0, 0, 0, -1, 0, 0, 0 FROM held
        UNION ALL
        SELECT task, 0, 0, 0, 0, -(state = 'f')::int, -(state = 'x')::int, -(state = 'c')::int FROM history
        UNION ALL
        SELECT task, 0, 0, 0, 0, 0, -(state = 'x')::int * n, -(state = 'c')::int * n
        FROM (SELECT task, state, high - low + 1 AS n FROM over_ranges) over_without
    ) x
    GROUP BY task
    HAVING sum(ready) <> 0 OR sum(paused) <> 0 OR sum(waiting) <> 0 OR sum(held) <> 0 OR sum(finished) <> 0 OR sum(failed) <> 0 OR sum(cancelled) <> 0
) wrong;
