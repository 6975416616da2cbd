-- Which pieces of needed tasks are taken note of, in ranges of chunks.
SELECT p.place, p.chunk, p.bits
FROM unnest(@places::int[], @lows::bigint[], @highs::bigint[]) AS r (place, low, high)
JOIN need_pieces p ON p.task_id = @task::bigint AND p.place = r.place AND p.chunk BETWEEN r.low AND r.high;
