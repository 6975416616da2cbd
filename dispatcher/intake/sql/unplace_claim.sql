-- A claim that people made is not wanted any more.
UPDATE claim_keys SET queue_id = NULL, node = '', devices = '{}' WHERE task_id = 0 AND key = @name::text AND queue_id IS NOT NULL RETURNING id;
