-- job_ranges stands for it.

-- +goose Up
DROP INDEX jobs_task;

-- +goose Down
CREATE INDEX jobs_task ON jobs (task_id, id) WITH (deduplicate_items = off);
COMMENT ON INDEX jobs_task IS 'The live jobs of a task: pause, resume, abort, lists. 33 bytes a job, 86 of WAL, about 2 us when tasks come mixed.';
