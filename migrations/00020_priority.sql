-- A task's priority may change while it has jobs, and a task keeps the words that it was asked for in.

-- +goose Up
ALTER TABLE tasks ADD COLUMN priority_after bigint, ADD COLUMN parameters json;
COMMENT ON COLUMN tasks.priority_after IS 'Live jobs up to this id have the priority of the task; NULL: all have. Generator.Sweep goes on.';
COMMENT ON COLUMN tasks.parameters IS 'What the task was submitted as, where that was not a Spec: PanDA''s task parameters, all of them. NULL: it was.';
CREATE INDEX tasks_priority ON tasks (id) WHERE priority_after IS NOT NULL;
COMMENT ON INDEX tasks_priority IS 'Tasks whose jobs do not all have their new priority yet; nearly always empty.';

-- +goose Down
DROP INDEX tasks_priority;
ALTER TABLE tasks DROP COLUMN priority_after, DROP COLUMN parameters;
