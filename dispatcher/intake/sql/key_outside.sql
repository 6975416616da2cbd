-- Finds or makes the row of a claim that people make, and locks it. What the machine refused is not made.
INSERT INTO claim_keys AS c (task_id, key) VALUES (0, @name::text)
ON CONFLICT (task_id, key) DO UPDATE
    SET queue_id = CASE WHEN NOT EXISTS (SELECT FROM outbox o WHERE o.id = c.said AND o.refused IS NOT NULL) THEN c.queue_id END
RETURNING c.id, c.queue_id, c.node, c.devices, c.max_sharers;
