-- Takes up the receivers of a site. The first ones are not told what was noted for others before.
WITH earlier AS (
    DELETE FROM webhook_tasks WHERE NOT EXISTS (SELECT FROM webhooks)
)
INSERT INTO webhooks (name) SELECT unnest(@names::text[]) ON CONFLICT DO NOTHING
