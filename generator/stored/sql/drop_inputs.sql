-- Pieces to come of a task of groups that was scaled, by name: others take their place.
DELETE FROM inputs WHERE task_id = @task::bigint;
