-- Live jobs up to this id have the priority of their task; NULL: all.
UPDATE tasks SET priority_after = @after::bigint WHERE id = @task::bigint;
