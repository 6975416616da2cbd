-- Charges what bound claims hold to another share: of one task, or of all that are charged to a share. The rows are read again
-- by everybody.
WITH old AS MATERIALIZED (
    SELECT id, share_id FROM resource_claims
    WHERE charge_id <> 0 AND share_id NOT IN (0, @to::int) AND (@task::bigint = 0 OR task_id = @task::bigint)
        AND (@from::int = 0 OR share_id = @from::int)
    ORDER BY id FOR UPDATE
), moved AS (
    UPDATE resource_claims c SET share_id = @to::int, changed = pg_current_xact_id() FROM old o WHERE c.id = o.id
    RETURNING o.share_id AS from_id, c.charge_id, c.queue_id
)
SELECT from_id, charge_id, queue_id, count(*)::int AS n FROM moved GROUP BY from_id, charge_id, queue_id;
