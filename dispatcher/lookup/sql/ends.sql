-- How many jobs reached which final state in the hours of a window, by share, shape and queue. Those that a rule gave up are of the queue of
-- their last attempt, when that was within a day before; those that ended without a lease are of no queue.
SELECT coalesce(s.path, '') AS share, e.shape_id, coalesce(q.name, '') AS queue, coalesce(q.pool, '') AS pool,
    CASE e.state WHEN 'f' THEN 'finished' WHEN 'x' THEN 'failed' ELSE 'cancelled' END AS state, sum(e.n)::bigint AS n
FROM (
    SELECT share AS share_id, shape AS shape_id, queue, state, n FROM end_counts
    WHERE hour > now() - make_interval(mins => @minutes::int) - interval '1 hour' AND state IN ('f', 'x', 'c')
    UNION ALL
    SELECT coalesce(h.share, b.share_id), coalesce(h.shape, b.shape_id), coalesce(h.queue, 0), o.state, o.n
    FROM (
        SELECT r.low, r.at, r.state, r.high - r.low + 1 AS n FROM over_ranges r
        WHERE r.at > now() - make_interval(mins => @minutes::int) - interval '1 hour' AND r.state <> 'x'
        UNION ALL
        SELECT generate_series(r.low, r.high), r.at, r.state, 1 FROM over_ranges r
        WHERE r.at > now() - make_interval(mins => @minutes::int) - interval '1 hour' AND r.state = 'x'
    ) o
    CROSS JOIN LATERAL (SELECT i.share_id, i.shape_id FROM job_blocks i WHERE i.low <= o.low ORDER BY i.low DESC LIMIT 1) b
    LEFT JOIN LATERAL (
        SELECT a.share, a.shape, a.queue FROM history a
        WHERE o.state = 'x' AND a.job = o.low AND a.ended_at > o.at - interval '1 day' AND a.ended_at <= o.at
        ORDER BY a.attempt DESC LIMIT 1
    ) h ON true
) e
LEFT JOIN shares s ON s.id = e.share_id
LEFT JOIN queues q ON q.id = e.queue
GROUP BY e.share_id, s.path, e.shape_id, q.name, q.pool, e.state;
