-- The runs of released pieces that ranges of tasks touch; the first may begin before its range, the last end behind it.
SELECT p.task_id, p.position, p.pieces
FROM unnest(@tasks::bigint[], @lows::bigint[], @highs::bigint[]) AS r (task_id, low, high)
CROSS JOIN LATERAL (
    SELECT task_id, position, pieces FROM released_pieces
    WHERE task_id = r.task_id AND position > r.low - 1000 AND position < r.high
    ORDER BY position
) p
ORDER BY p.task_id, p.position;
