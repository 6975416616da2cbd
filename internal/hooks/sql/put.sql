-- Notes messages for receivers that there still are; of what lasts one that is there already stays.
INSERT INTO webhook_messages (webhook, event, subject, body, made_at)
SELECT m.webhook, m.event, m.subject, m.body, m.at
FROM unnest(@webhooks::text[], @events::text[], @subjects::text[], @bodies::text[], @ats::timestamptz[]) AS m (webhook, event, subject, body, at)
JOIN webhooks w ON w.name = m.webhook
ON CONFLICT (webhook, event, subject) WHERE event NOT LIKE 'task.%' DO NOTHING
