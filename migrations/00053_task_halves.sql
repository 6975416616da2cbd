-- Lists that begin with tasks that are not over went through all the others of a user, and through all live ones for the rest.
-- ended_at is in predicates already and user_name stays: updates of tasks are HOT where they were.

-- +goose Up
CREATE INDEX tasks_over ON tasks (id) WHERE ended_at IS NOT NULL;
CREATE INDEX tasks_user_live ON tasks (user_name, id) WHERE ended_at IS NULL;
CREATE INDEX tasks_user_over ON tasks (user_name, id) WHERE ended_at IS NOT NULL;
COMMENT ON INDEX tasks_over IS 'The newest tasks that are over, however many newer ones are not. One entry when a task ends, 22 MB a million.';
COMMENT ON INDEX tasks_user_live IS 'A user''s tasks that are not over, however many are.';
COMMENT ON INDEX tasks_user_over IS 'The newest of a user''s tasks that are over, however many newer ones are not. One entry when a task ends.';

-- +goose Down
DROP INDEX tasks_over, tasks_user_live, tasks_user_over;
