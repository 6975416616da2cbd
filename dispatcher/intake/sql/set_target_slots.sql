-- Sets target slots, or a floor. No row: it was said before.
INSERT INTO target_slots AS t (queue, share_id, class, floor, slots, expires_at)
SELECT @queue::text, @share::int, @class::text, @floor::boolean, @slots::int, @expires_at::timestamptz
ON CONFLICT (queue, share_id, class, floor) DO UPDATE SET slots = excluded.slots, expires_at = excluded.expires_at, set_at = now()
    WHERE t.slots <> excluded.slots OR t.expires_at IS DISTINCT FROM excluded.expires_at;
