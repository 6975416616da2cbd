-- What became of a file that was due.
UPDATE site_later
SET state = @state::text, version = nullif(@version::bigint, 0), error = @error::text, ended_at = now()
WHERE id = @id::bigint AND state = 'waiting'
