-- Finds or makes claims that jobs are about to refer to, in an order that is the same for all. One that is there is locked, so
-- that it is not released before the jobs are there that join it; it may be bound, so their place is looked at.
INSERT INTO resource_claims AS c (task_id, key, template, linger_s, charge_id)
SELECT n.task_id, n.key, n.template::jsonb, n.linger_s, n.charge_id
FROM unnest(@tasks::bigint[], @keys::text[], @templates::text[], @lingers::float8[], @charges::int[])
    AS n (task_id, key, template, linger_s, charge_id)
ORDER BY n.task_id, n.key
ON CONFLICT (task_id, key) WHERE state IN ('pending', 'bound') OR task_id = 0 AND state = 'draining'
    DO UPDATE SET unplaced = true, placed_to = 0, changed = pg_current_xact_id()
RETURNING c.task_id, c.key, c.id;
