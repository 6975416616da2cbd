-- What the rules of a newer site version say about a waiting task.
UPDATE tasks SET state = @state::text, reason = @reason::text, share_id = @share::int, tagged_by = @tagged_by::jsonb,
    site_version = @site_version::bigint
WHERE id = @task::bigint AND state = 'waiting';
