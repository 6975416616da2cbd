-- Another share for a task that is over and about to be tried again.
UPDATE tasks SET share_id = @share::int, own_share_id = NULL, tagged_by = @tagged_by::jsonb, site_version = @site_version::bigint
WHERE id = @task::bigint AND state IN ('finished', 'failed');
