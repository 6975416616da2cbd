-- A task that is over is about to be tried again: what it needed and did not get is looked at anew.
WITH reopened AS (
    UPDATE task_needs n SET state = 'open', after = 0, low_next = NULL, was_over = false, seen = 0
    FROM tasks a
    WHERE n.task_id = @task::bigint AND n.state IN ('broken', 'left') AND a.id = n.needs_id
    RETURNING n.needs_id, n.place, n.condition, n.per_input, n.outputs IS NOT NULL AS outputs, a.name AS needs_name, a.state AS needs_state,
        a.ended_at IS NOT NULL AS over
), chained AS (
    UPDATE tasks SET chain = 'open' WHERE id = @task::bigint AND EXISTS (SELECT FROM reopened WHERE per_input OR outputs)
)
SELECT needs_id, condition, per_input, needs_name, needs_state, over FROM reopened ORDER BY place;
