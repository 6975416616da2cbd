-- A claim that people made, locked, by its name.
SELECT c.id, c.state, c.sharers
FROM resource_claims c
WHERE c.task_id = 0 AND c.key = @name::text AND c.state IN ('bound', 'draining')
FOR UPDATE OF c;
