-- The latest file of an owner with a size and a checksum. It counts as used.
UPDATE sandboxes SET used_at = now()
WHERE name = (
    SELECT name FROM sandboxes
    WHERE owner = @owner::text AND size = @size::bigint AND checksum = @checksum::bigint
    ORDER BY stored_at DESC, name LIMIT 1
)
RETURNING name;
