-- A locked claim that people made ends: it drains while jobs hold it, else its devices are free, and jobs that want it wait
-- for another one of its name.
WITH freed AS (
    DELETE FROM claim_devices WHERE claim_id = @id::bigint AND NOT @drains::boolean
)
UPDATE resource_claims SET
    state = CASE WHEN @drains::boolean THEN 'draining' WHEN @released::boolean THEN 'released' ELSE 'pending' END,
    template = template || '{"missing": true}', queue_id = CASE WHEN @drains::boolean THEN queue_id ELSE 0 END,
    node = CASE WHEN @drains::boolean THEN node ELSE '' END, devices = CASE WHEN @drains::boolean THEN devices ELSE '[]' END,
    bound_at = CASE WHEN @drains::boolean THEN bound_at END, idle_since = NULL, lost = false,
    unplaced = NOT @released::boolean, placed_to = 0, ended_at = CASE WHEN @released::boolean THEN now() END,
    changed = pg_current_xact_id()
WHERE id = @id::bigint;
