-- Verbs on tasks with a million jobs go along them, and tasks wait for the limits of their user, share or label.

-- +goose Up
ALTER TABLE tasks ADD COLUMN sweep_after bigint, ADD COLUMN sweep_rest timestamptz, ADD COLUMN quota bigint, ADD COLUMN limited text;
COMMENT ON COLUMN tasks.sweep_after IS 'The walk of a verb along the live jobs has come up to this id; NULL: it begins anew.';
COMMENT ON COLUMN tasks.sweep_rest IS 'The last walk found nothing to do, so the next one has time until then; NULL: it has not.';
COMMENT ON COLUMN tasks.quota IS 'Limits of the site let n_generated come up to here; NULL: no limit concerns the task.';
COMMENT ON COLUMN tasks.limited IS 'Which limit keeps the task from making more jobs, or any; NULL: none.';
ALTER TABLE tasks DROP CONSTRAINT tasks_check, ADD CONSTRAINT tasks_resume_state CHECK (resume_state IS NULL OR state IN ('paused', 'throttled'));
CREATE INDEX tasks_quota ON tasks (id) WHERE quota IS NOT NULL AND ended_at IS NULL;
COMMENT ON INDEX tasks_quota IS 'Live tasks that a limit concerns, or did: most sites have no limits, and then it is empty.';

-- +goose Down
UPDATE tasks SET resume_state = NULL WHERE state = 'throttled';
ALTER TABLE tasks DROP CONSTRAINT tasks_resume_state, ADD CONSTRAINT tasks_check CHECK (resume_state IS NULL OR state = 'paused');
DROP INDEX tasks_quota;
ALTER TABLE tasks DROP COLUMN sweep_after, DROP COLUMN sweep_rest, DROP COLUMN quota, DROP COLUMN limited;
