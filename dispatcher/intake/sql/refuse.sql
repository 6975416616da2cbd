-- Notes why the machine does not take a row. A claim that people made in it is not made.
WITH refused AS (
    UPDATE outbox SET refused = @reason::text WHERE id = @id::bigint AND refused IS NULL RETURNING entries
), unmade AS (
    UPDATE claim_keys c SET queue_id = NULL
    FROM refused r, jsonb_array_elements(r.entries) AS e (entry)
    WHERE c.task_id = 0 AND c.id = (e.entry->'c'->>'claim')::bigint AND e.entry->'c' ? 'queue'
)
SELECT FROM refused;
