-- Notes what a receiver has taken.
WITH gone AS (
    DELETE FROM webhook_messages WHERE id = ANY (@ids::bigint[]) AND event LIKE 'task.%'
)
UPDATE webhook_messages SET over = true WHERE id = ANY (@ids::bigint[]) AND event NOT LIKE 'task.%'
