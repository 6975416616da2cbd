-- A capacity that goes before the file's until it is reset.
INSERT INTO resource_capacities (name, key, queue_id, capacity, set_by)
VALUES (@name::text, @key::text, @queue_id::int, @capacity::bigint, @by::text)
ON CONFLICT (name, key, queue_id) DO UPDATE SET capacity = excluded.capacity, set_by = excluded.set_by, set_at = now()
