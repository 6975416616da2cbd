-- Finds or makes the ids of claims, in an order that is the same for all, and locks them.
INSERT INTO claim_keys AS c (task_id, key)
SELECT DISTINCT n.task_id, n.key FROM unnest(@tasks::bigint[], @keys::text[]) AS n (task_id, key) ORDER BY n.task_id, n.key
ON CONFLICT (task_id, key) DO UPDATE SET key = excluded.key
RETURNING c.id, c.task_id, c.key, c.members, c.made, c.queue_id IS NOT NULL AS outside;
