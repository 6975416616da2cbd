-- Finds or makes claims of a task, in the order of their keys. One that is there is locked, so that it is not released
-- before the jobs are there that join it; it may be bound, so their place is looked at.
INSERT INTO resource_claims AS c (task_id, key, template, linger_s)
SELECT @task::bigint, n.key, n.template::jsonb, n.linger_s
FROM unnest(@keys::text[], @templates::text[], @lingers::float8[]) AS n (key, template, linger_s)
ORDER BY n.key
ON CONFLICT (task_id, key) WHERE state <> 'released' DO UPDATE SET unplaced = true, placed_to = 0, changed = pg_current_xact_id()
RETURNING c.key, c.id;
