-- The target slots that are in force at a moment.
SELECT queue, share_id, class, slots, expires_at
FROM target_slots
WHERE expires_at IS NULL OR expires_at > @at::timestamptz
ORDER BY queue, share_id, class;
