-- Those of a task.
CREATE INDEX claims_task ON claims (task, id);
