-- Tasks whose jobs do not cover what was generated of their events exactly once, or whose counts do not agree with
-- their jobs. Jobs that try a piece again count with it, not beside it.
WITH all_jobs AS (
    SELECT task_id, first_event, n_events, retry_of, 'live' AS state FROM jobs
    UNION ALL
    SELECT task_id, first_event, n_events, retry_of, state FROM ended_jobs
), covered AS (
    SELECT task_id, count(*) FILTER (WHERE retry_of IS NULL) AS pieces, count(DISTINCT first_event) FILTER (WHERE retry_of IS NULL) AS different,
        coalesce(sum(n_events) FILTER (WHERE retry_of IS NULL), 0) AS events, coalesce(max(first_event + n_events), 0) AS upto,
        count(*) AS jobs, count(*) FILTER (WHERE state <> 'live') AS ended
    FROM all_jobs GROUP BY task_id
)
SELECT count(*) AS tasks, coalesce(sum(c.pieces), 0)::bigint AS pieces, coalesce(sum(c.events), 0)::bigint AS events,
    count(*) FILTER (WHERE coalesce(c.different, 0) <> coalesce(c.pieces, 0) OR coalesce(c.events, 0) <> coalesce(c.upto, 0)
        OR coalesce(c.jobs, 0) <> t.n_generated OR t.n_split <> coalesce(c.pieces, 0)
        OR (t.n_split = t.n_pieces AND c.upto <> t.n_events)) AS wrong,
    count(*) FILTER (WHERE t.n_finished + t.n_failed + t.n_cancelled <> coalesce(c.ended, 0)) AS unsettled
FROM tasks t LEFT JOIN covered c ON c.task_id = t.id;
