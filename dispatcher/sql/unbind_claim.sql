-- A locked claim that nobody holds leaves its place; its devices are free. released: it is over.
WITH freed AS (
    DELETE FROM claim_devices WHERE claim_id = @id::bigint
)
UPDATE resource_claims SET state = CASE WHEN @released::boolean THEN 'released' ELSE 'pending' END, queue_id = 0, node = '', devices = '[]',
    bound_at = NULL, share_id = 0, idle_since = NULL, lost = false, unplaced = NOT @released::boolean, placed_to = 0,
    ended_at = CASE WHEN @released::boolean THEN now() END, changed = pg_current_xact_id()
WHERE id = @id::bigint;
