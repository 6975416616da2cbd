-- Finds or makes the ids of claims, in an order that is the same for all, and locks them. What people made and the machine refused is
-- not made.
INSERT INTO claim_keys AS c (task_id, key)
SELECT DISTINCT n.task_id, n.key FROM unnest(@task_id::bigint[], @key::text[]) AS n (task_id, key) ORDER BY n.task_id, n.key
ON CONFLICT (task_id, key) DO UPDATE
    SET queue_id = CASE WHEN NOT EXISTS (SELECT FROM outbox o WHERE o.id = c.said AND o.refused IS NOT NULL) THEN c.queue_id END
RETURNING c.id, c.task_id, c.key, c.members, c.made, c.queue_id IS NOT NULL AS outside;
