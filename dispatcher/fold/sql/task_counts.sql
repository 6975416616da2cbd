-- All jobs of tasks, to be compared.
SELECT task, user_name, ready, held, waiting, withdrawn, finished, failed, cancelled FROM task_counts;
