-- Jobs of tasks by state.
SELECT task, waiting + paused AS waiting, ready, held AS leased, finished, failed, cancelled
FROM task_counts WHERE task = ANY (@tasks::bigint[]);
