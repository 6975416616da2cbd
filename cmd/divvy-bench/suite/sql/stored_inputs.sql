-- Inputs that a task has.
SELECT coalesce(sum(cardinality(names)), 0)::bigint FROM inputs WHERE task_id = @task::bigint;
