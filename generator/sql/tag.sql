-- What the rules of a newer site version say about a waiting task. It waits on where it needs tasks that are not over.
WITH chained AS (
    SELECT coalesce(string_agg(needs_id::text, ', ' ORDER BY place), '') AS needed
    FROM task_needs WHERE task_id = @task::bigint AND state = 'open' AND NOT per_input
)
UPDATE tasks SET state = CASE WHEN c.needed = '' THEN @state::text ELSE 'waiting' END,
    reason = CASE WHEN c.needed = '' OR @share::int IS NULL THEN @reason::text ELSE 'waits for task ' || c.needed END,
    share_id = @share::int, tagged_by = @tagged_by::jsonb, site_version = @site_version::bigint
FROM chained c
WHERE id = @task::bigint AND state = 'waiting' AND share_id IS NULL;
