-- Ranges of inputs, one range a task.
SELECT i.task_id, i.name
FROM unnest(@tasks::bigint[], @froms::bigint[], @tos::bigint[]) AS r (task_id, low, high)
CROSS JOIN LATERAL (
    SELECT task_id, position, name FROM inputs
    WHERE task_id = r.task_id AND position >= r.low AND position < r.high
    ORDER BY position
) i
ORDER BY i.task_id, i.position;
