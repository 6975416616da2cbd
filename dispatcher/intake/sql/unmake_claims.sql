-- The jobs of claims of tasks that are not made never will be.
WITH locked AS (
    SELECT id, members - made AS n FROM claim_keys WHERE task_id = ANY (@tasks::bigint[]) AND task_id > 0 AND members > made ORDER BY id FOR UPDATE
)
UPDATE claim_keys c SET made = c.members FROM locked l WHERE c.id = l.id RETURNING c.id, l.n;
