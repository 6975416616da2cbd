-- Finds or makes claims of a task, in the order of their keys. One that is there is locked, so that it is not released
-- before the jobs are there that join it; it may be bound, so their place is looked at.
INSERT INTO resource_claims AS c (task_id, key, template, linger_s, charge_id)
SELECT @task::bigint, n.key, n.template::jsonb, n.linger_s, n.charge_id
FROM unnest(@keys::text[], @templates::text[], @lingers::float8[], @charges::int[]) AS n (key, template, linger_s, charge_id)
ORDER BY n.key
ON CONFLICT (task_id, key) WHERE state <> 'released' DO UPDATE SET unplaced = true, placed_to = 0, changed = pg_current_xact_id()
RETURNING c.key, c.id;
