-- Whether a task waits for a rule at all.
SELECT EXISTS (SELECT FROM tasks WHERE state = 'waiting' AND share_id IS NULL);
