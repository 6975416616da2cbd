-- All ends that some steps folded, in the order of the log: by the tasks that each step changed, and within its days.
SELECT e.task, e.nth, e.low, e.high, e.attempt, e.outcome, e.state, e.exit_code, e.at
FROM steps s
CROSS JOIN LATERAL unnest(s.tasks) AS t (task)
CROSS JOIN LATERAL (
    SELECT h.task, h.nth, h.job AS low, h.job AS high, h.attempt, h.outcome, h.state, h.exit_code, h.ended_at AS at
    FROM history h
    WHERE h.task = t.task AND h.nth >= (s.before + 1) << 20 AND h.nth < (s.seq + 1) << 20 AND h.ended_at >= s.since AND h.ended_at <= s.at
    UNION ALL
    SELECT o.task, o.nth, o.low, o.high, 0 AS attempt, ' '::"char" AS outcome, o.state, 0 AS exit_code, o.at
    FROM over_ranges o
    WHERE o.task = t.task AND o.nth >= (s.before + 1) << 20 AND o.nth < (s.seq + 1) << 20
) e
WHERE s.seq > @after::bigint AND s.seq <= @up_to::bigint
ORDER BY e.nth, e.low;
