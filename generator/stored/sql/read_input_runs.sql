-- The runs of inputs that ranges touch, each once.
SELECT DISTINCT ON (i.task_id, i.position) i.task_id, i.position, i.names
FROM unnest(@tasks::bigint[], @lows::bigint[], @highs::bigint[]) AS r (task_id, low, high)
CROSS JOIN LATERAL (
    SELECT task_id, position, names FROM inputs
    WHERE task_id = r.task_id AND position > r.low - @run::bigint AND position < r.high
    ORDER BY position
) i
ORDER BY i.task_id, i.position;
