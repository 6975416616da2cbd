-- The parts of their tasks that jobs have, of short spans of ids. Span by span, so that each is looked for in its own partition alone; and
-- planned once: how many spans there are the planner does not see.
SELECT j.id, j.idx, j.first_event, j.n_events, j.inputs, j.claims, j.again
FROM unnest((SELECT @from::bigint[]), (SELECT @to::bigint[])) AS s (low, high)
CROSS JOIN LATERAL (
    SELECT p.id, p.idx, coalesce(p.first_event, 0) AS first_event, coalesce(p.n_events, 0) AS n_events, p.inputs, p.claims, p.retry_of IS NOT NULL AS again
    FROM jobs p WHERE p.id >= s.low AND p.id < s.high LIMIT (SELECT @most::bigint)
) j;
