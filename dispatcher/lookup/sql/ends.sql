-- How many jobs reached which final state in the hours of a window, by share, shape and queue. Those that ended without a lease are of
-- no queue.
SELECT e.share_id, coalesce(s.path, '') AS share, e.shape_id, coalesce(q.name, '') AS queue, coalesce(q.pool, '') AS pool, e.state::text AS state,
    sum(e.n)::bigint AS n
FROM (
    SELECT share AS share_id, shape AS shape_id, queue, state, n FROM end_counts
    WHERE hour > now() - make_interval(mins => @minutes::int) - interval '1 hour' AND state IN ('f', 'x', 'c')
    UNION ALL
    SELECT b.share_id, b.shape_id, 0, o.state, o.high - o.low + 1
    FROM over_ranges o
    CROSS JOIN LATERAL (SELECT i.share_id, i.shape_id FROM job_blocks i WHERE i.low <= o.low ORDER BY i.low DESC LIMIT 1) b
    WHERE o.at > now() - make_interval(mins => @minutes::int) - interval '1 hour'
) e
LEFT JOIN shares s ON s.id = e.share_id
LEFT JOIN queues q ON q.id = e.queue
GROUP BY e.share_id, s.path, e.shape_id, q.name, q.pool, e.state;
