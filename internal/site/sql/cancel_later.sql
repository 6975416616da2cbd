-- Takes back a file for later that is not in force yet.
UPDATE site_later
SET state = 'cancelled', ended_at = now(), ended_by = @by::text
WHERE id = @id::bigint AND state = 'waiting'
