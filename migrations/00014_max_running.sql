-- How many jobs of a task may run at once, as its user says.

-- +goose Up
ALTER TABLE tasks ADD COLUMN max_running int;
COMMENT ON COLUMN tasks.max_running IS 'So many of its jobs are ready or running at once, at the most; NULL: any number.';
COMMENT ON COLUMN tasks.quota IS 'Limits of the site, or max_running, let n_generated rise to this; NULL: none concerns the task.';
COMMENT ON COLUMN tasks.limited IS 'The limit, or max_running, that keeps the task from making more jobs, or any; NULL: none.';
COMMENT ON INDEX tasks_quota IS 'Live tasks that a limit or max_running concerns, or a limit did.';

-- +goose Down
ALTER TABLE tasks DROP COLUMN max_running;
COMMENT ON COLUMN tasks.quota IS 'Limits of the site let n_generated rise to this; NULL: no limit concerns the task.';
COMMENT ON COLUMN tasks.limited IS 'The limit that keeps the task from making more jobs, or any; NULL: none.';
COMMENT ON INDEX tasks_quota IS 'Live tasks that a limit concerns, or did: most sites have no limits, and then it is empty.';
