-- A claim that people made is not wanted any more. What the machine refused is not made.
UPDATE claim_keys c SET queue_id = NULL, node = '', devices = '{}'
WHERE c.task_id = 0 AND c.key = @name::text AND c.queue_id IS NOT NULL
    AND NOT EXISTS (SELECT FROM outbox o WHERE o.id = c.said AND o.refused IS NOT NULL)
RETURNING c.id;
