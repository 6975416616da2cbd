-- From here on the inputs of a submitting task are in lots: those that it has become the first one.
WITH marked AS (
    UPDATE tasks SET lots = 0 WHERE id = @task::bigint AND lots IS NULL RETURNING id, n_inputs - @n::bigint AS before
)
INSERT INTO lots (task_id, lot, n, bytes, events)
SELECT m.id, 0, m.before, coalesce(sum((SELECT sum(s) FROM unnest(i.sizes) s)), 0),
    coalesce(sum(coalesce((SELECT sum(greatest(e, 1)) FROM unnest(i.events) e), cardinality(i.names))), 0)
FROM marked m LEFT JOIN inputs i ON i.task_id = m.id
WHERE m.before > 0 GROUP BY m.id, m.before;
