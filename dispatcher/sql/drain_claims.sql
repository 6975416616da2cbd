-- Claims of a task that it does not want any more, in the order of their ids: nobody else gets to hold them. One that nobody
-- holds is released as soon as its jobs are cancelled.
WITH locked AS (
    SELECT id FROM resource_claims
    WHERE task_id = @task::bigint AND key = ANY (@keys::text[]) AND state IN ('pending', 'bound')
    ORDER BY id FOR UPDATE
)
UPDATE resource_claims c SET state = 'draining', unplaced = false, changed = pg_current_xact_id()
FROM locked l WHERE c.id = l.id;
