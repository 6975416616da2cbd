-- The deadlines of new tasks.
INSERT INTO task_deadlines (task_id, deadline, boost)
SELECT * FROM unnest(@tasks::bigint[], @deadlines::timestamptz[], @boosts::int[]);
