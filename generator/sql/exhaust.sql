-- A scout has failed: the task makes no more jobs until somebody says so.
UPDATE tasks SET state = 'exhausted', reason = @reason::text
WHERE id = @task::bigint AND state IN ('scouting', 'running') AND scouted IS NULL;
