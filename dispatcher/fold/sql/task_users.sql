-- Whose tasks those are that have live jobs, for a start.
SELECT task, user_name FROM task_counts WHERE ready + paused + held + waiting > 0;
