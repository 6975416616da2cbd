-- Jobs that wait to be tried again, locked in the order of their ids, as ends of attempts do it, and the terms of their tasks.
SELECT j.id, j.task_id, j.share_id, j.shape_id, j.place, j.attempt, j.state, j.claims, j.created_at, p.retry AS terms
FROM jobs j
LEFT JOIN payloads p ON p.task_id = j.task_id
WHERE j.id = ANY (@ids::bigint[])
ORDER BY j.id
FOR UPDATE OF j;
