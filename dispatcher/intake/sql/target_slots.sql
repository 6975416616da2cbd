-- All target slots and floors.
SELECT queue, share_id, class, slots, expires_at, floor FROM target_slots ORDER BY queue, share_id, class, floor;
