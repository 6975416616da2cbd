-- How large a file is, and which version it is. It counts as used, written down once a day: a thousand jobs may fetch it at once.
WITH used AS (
    UPDATE sandboxes SET used_at = now() WHERE name = @name::text AND used_at < now() - interval '1 day'
)
SELECT size, stored_at FROM sandboxes WHERE name = @name::text;
