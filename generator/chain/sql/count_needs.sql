-- What a task still waits for.
SELECT coalesce(string_agg(n.needs_id || ' (' || a.name || ')', ', ' ORDER BY n.place) FILTER (WHERE n.state = 'open' AND NOT n.per_input), '') AS waits,
    count(*) FILTER (WHERE n.state = 'open' AND (n.per_input OR n.outputs IS NOT NULL)) AS following,
    count(*) FILTER (WHERE n.state = 'broken') AS broken
FROM task_needs n
JOIN tasks a ON a.id = n.needs_id
WHERE n.task_id = @task::bigint;
