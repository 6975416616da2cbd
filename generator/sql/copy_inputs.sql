-- Gives a task that has none yet the inputs of another one, and its lots; where only the new task is cut from lots, they are
-- one. The row lock keeps senders out until they are there.
WITH room AS (
    UPDATE tasks t SET n_inputs = s.n_inputs, lots = coalesce(t.lots, least(s.lots, 0)) FROM tasks s
    WHERE t.id = @task::bigint AND t.state = 'submitting' AND t.split = 'inputs' AND t.n_inputs = 0 AND s.id = @source::bigint
    RETURNING t.id, t.lots IS NOT NULL AND s.lots IS NULL AS one, s.n_inputs AS n
), copied AS (
    INSERT INTO inputs (task_id, position, names, sizes, events)
    SELECT r.id, i.position, i.names, i.sizes, i.events FROM room r CROSS JOIN inputs i WHERE i.task_id = @source::bigint
)
INSERT INTO lots (task_id, lot, locations, n, bytes, events)
SELECT r.id, l.lot, l.locations, l.n, l.bytes, l.events FROM room r CROSS JOIN lots l WHERE l.task_id = @source::bigint
UNION ALL
SELECT r.id, 0, '{}', r.n, coalesce(sum((SELECT sum(s) FROM unnest(i.sizes) s)), 0),
    coalesce(sum(coalesce((SELECT sum(greatest(e, 1)) FROM unnest(i.events) e), cardinality(i.names))), 0)
FROM room r JOIN inputs i ON i.task_id = @source::bigint
WHERE r.one AND r.n > 0
GROUP BY r.id, r.n;
