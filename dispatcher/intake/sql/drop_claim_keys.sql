-- Drops the keys of claims of tasks all of whose jobs were dropped.
DELETE FROM claim_keys c WHERE c.task_id > 0 AND NOT EXISTS (SELECT FROM job_blocks b WHERE b.task_id = c.task_id);
