-- Forgets receivers that the site has no more, with what they were to be told.
DELETE FROM webhooks WHERE name <> ALL (@names::text[])
