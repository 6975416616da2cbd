-- Jobs of tasks by state.
SELECT task, waiting + withdrawn AS waiting, ready, held AS leased, finished, failed, cancelled
FROM task_counts WHERE task = ANY (@tasks::bigint[]);
