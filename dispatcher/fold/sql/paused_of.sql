-- Which of these tasks are paused.
SELECT task FROM paused_tasks WHERE task = ANY (@ids::bigint[]);
