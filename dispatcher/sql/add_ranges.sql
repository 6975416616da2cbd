-- The ranges of ids of a batch of new jobs, of each of its tasks: how the jobs of a task are found.
INSERT INTO job_ranges (task_id, low, high)
SELECT * FROM unnest(@tasks::bigint[], @lows::bigint[], @highs::bigint[]);
