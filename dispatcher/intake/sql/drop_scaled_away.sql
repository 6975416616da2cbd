-- Drops what is known of jobs that were dropped.
DELETE FROM scaled_away s WHERE NOT EXISTS (SELECT FROM job_blocks b WHERE b.task_id = s.task_id);
