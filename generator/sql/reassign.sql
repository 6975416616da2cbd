-- Another share for a task that is not over: its jobs to come go there. It counts as the one that the task names, and
-- no rule on a job attribute overrules it. One that no rule had matched need not wait any more, unless it needs tasks that are not over.
WITH chained AS (
    SELECT coalesce(string_agg(needs_id::text, ', ' ORDER BY place), '') AS needed
    FROM task_needs WHERE task_id = @task::bigint AND state = 'open' AND NOT per_input
)
UPDATE tasks SET share_id = @share::int, own_share_id = NULL, tagged_by = @tagged_by::jsonb, site_version = @site_version::bigint,
    state = CASE WHEN state = 'waiting' AND c.needed = '' THEN 'ready' ELSE state END,
    reason = CASE WHEN state <> 'waiting' THEN reason WHEN c.needed = '' THEN '' ELSE 'waits for task ' || c.needed END
FROM chained c
WHERE id = @task::bigint AND ended_at IS NULL;
