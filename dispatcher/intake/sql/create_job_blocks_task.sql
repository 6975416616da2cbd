-- The jobs of a task.
CREATE INDEX job_blocks_task ON job_blocks (task_id, low);
