-- Back to what the file says: all that was set for the resource, or for one key or queue of it.
DELETE FROM resource_capacities
WHERE name = @name::text AND (@key::text = '' OR key = @key::text) AND (@queue_id::int = 0 OR queue_id = @queue_id::int)
