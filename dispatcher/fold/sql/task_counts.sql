-- All jobs of tasks, to be compared.
SELECT task, user_name, ready, paused, held, waiting, finished, failed, cancelled,
    coalesce((extract(epoch FROM begun_at) * 1000000)::bigint, 0) AS begun_us, coalesce((extract(epoch FROM over_at) * 1000000)::bigint, 0) AS over_us
FROM task_counts;
