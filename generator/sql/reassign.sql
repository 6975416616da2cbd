-- Another share for a task that is not over: its jobs to come go there. It counts as the one that the task names, and
-- no rule on a job attribute overrules it.
UPDATE tasks SET share_id = @share::int, own_share_id = NULL, tagged_by = @tagged_by::jsonb, site_version = @site_version::bigint,
    state = CASE WHEN state = 'waiting' THEN 'ready' ELSE state END, reason = CASE WHEN state = 'waiting' THEN '' ELSE reason END
WHERE id = @task::bigint AND ended_at IS NULL;
