-- Forgets what was told and lasts no longer: if it begins again, that is told again.
DELETE FROM webhook_messages WHERE over AND (event || ' ' || subject) <> ALL (@lasting::text[])
