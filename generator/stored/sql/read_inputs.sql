-- The runs of inputs that ranges of tasks touch; the first may begin before its range, the last end behind it.
SELECT i.task_id, i.position, i.names
FROM unnest(@tasks::bigint[], @lows::bigint[], @highs::bigint[]) AS r (task_id, low, high)
CROSS JOIN LATERAL (
    SELECT task_id, position, names FROM inputs
    WHERE task_id = r.task_id AND position > r.low - @run::bigint AND position < r.high
    ORDER BY position
) i
ORDER BY i.task_id, i.position;
