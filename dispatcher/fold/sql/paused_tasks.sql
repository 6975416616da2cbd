-- All tasks that are paused, for a start.
SELECT task FROM paused_tasks ORDER BY task;
