-- Tasks whose jobs do not cover what was generated of their events exactly once, or whose counts do not agree with
-- their jobs. Jobs that try a piece again count with it, not beside it.
WITH covered AS (
    SELECT b.task_id, count(*) FILTER (WHERE j.retry_of IS NULL) AS pieces, count(DISTINCT j.first_event) FILTER (WHERE j.retry_of IS NULL) AS different,
        coalesce(sum(j.n_events) FILTER (WHERE j.retry_of IS NULL), 0) AS events, coalesce(max(j.first_event + j.n_events), 0) AS upto,
        count(*) AS jobs
    FROM job_blocks b JOIN jobs j ON j.id BETWEEN b.low AND b.high
    GROUP BY b.task_id
), over AS (
    SELECT task, sum(n) AS ended
    FROM (
        SELECT task, count(*) AS n FROM history WHERE state IN ('f', 'x', 'c') GROUP BY task
        UNION ALL
        SELECT task, high - low + 1 FROM over_ranges
    ) parts
    GROUP BY task
)
SELECT count(*) AS tasks, coalesce(sum(c.pieces), 0)::bigint AS pieces, coalesce(sum(c.events), 0)::bigint AS events,
    count(*) FILTER (WHERE coalesce(c.different, 0) <> coalesce(c.pieces, 0) OR coalesce(c.events, 0) <> coalesce(c.upto, 0)
        OR coalesce(c.jobs, 0) <> t.n_generated OR t.n_split <> coalesce(c.pieces, 0)
        OR (t.n_split = t.n_pieces AND c.upto <> t.n_events)) AS wrong,
    count(*) FILTER (WHERE t.n_finished + t.n_failed + t.n_cancelled <> coalesce(o.ended, 0)) AS unsettled
FROM counted_tasks t LEFT JOIN covered c ON c.task_id = t.id LEFT JOIN over o ON o.task = t.id;
