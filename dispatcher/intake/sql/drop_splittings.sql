-- Jobs of tasks that wait to be split no more.
DELETE FROM splittings s
USING unnest(@task_id::bigint[], @low::bigint[], @high::bigint[]) AS k (task, low, high)
WHERE s.job_id BETWEEN k.low AND k.high AND s.task_id = k.task;
