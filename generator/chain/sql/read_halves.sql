-- Second halves in ranges of pieces of tasks.
SELECT h.task_id, h.idx, h.piece, h.again
FROM unnest(@tasks::bigint[], @lows::bigint[], @highs::bigint[]) AS r (task_id, low, high)
JOIN halves h ON h.task_id = r.task_id AND h.piece >= r.low AND h.piece < r.high;
