-- Whose a file is.
SELECT owner FROM sandboxes WHERE name = @name::text;
