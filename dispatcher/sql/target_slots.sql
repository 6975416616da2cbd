-- The target slots that are in force at a moment, limits and floors.
SELECT queue, share_id, class, slots, expires_at, false AS floor
FROM target_slots
WHERE expires_at IS NULL OR expires_at > @at::timestamptz
UNION ALL
SELECT queue, share_id, class, slots, expires_at, true
FROM target_floors
WHERE expires_at IS NULL OR expires_at > @at::timestamptz
ORDER BY queue, share_id, class;
