-- A daemon that stops in order.
UPDATE daemons SET closed_at = now() WHERE id = @id::bigint
