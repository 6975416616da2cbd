-- The task of an idempotency key, and whether it was made of the same body.
SELECT id, body_hash = @body_hash::bytea AS same FROM tasks WHERE idempotency_key = @key::text;
