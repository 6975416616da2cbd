-- Sets a floor. What has ended goes. No row: it was said before.
WITH over AS (
    DELETE FROM target_floors
    WHERE expires_at <= now() AND NOT (queue = @queue::text AND share_id = @share::int AND class = @class::text)
)
INSERT INTO target_floors AS t (queue, share_id, class, slots, expires_at)
SELECT @queue::text, @share::int, @class::text, @slots::int, @expires_at::timestamptz
ON CONFLICT (queue, share_id, class) DO UPDATE SET slots = excluded.slots, expires_at = excluded.expires_at, set_at = now()
    WHERE t.slots <> excluded.slots OR t.expires_at IS DISTINCT FROM excluded.expires_at;
