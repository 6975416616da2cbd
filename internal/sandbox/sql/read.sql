-- A piece of a version of a file; at counts from 1.
SELECT substring(content FROM @at::int FOR @n::int) FROM sandboxes WHERE name = @name::text AND stored_at = @stored_at::timestamptz;
