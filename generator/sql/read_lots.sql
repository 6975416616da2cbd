-- The lots of tasks that are locked.
SELECT task_id, lot, locations, n, bytes, events, cut, cut_bytes, cut_events, skip, pieces_left, shape_ids
FROM lots WHERE task_id = ANY (@tasks::bigint[]) ORDER BY task_id, lot;
