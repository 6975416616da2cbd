-- Finds or makes the row of a claim that people make, and locks it.
INSERT INTO claim_keys AS c (task_id, key) VALUES (0, @name::text)
ON CONFLICT (task_id, key) DO UPDATE SET key = excluded.key
RETURNING c.id, c.queue_id, c.node, c.devices, c.max_sharers;
