-- Drops what has ended: the machine ended it by itself.
DELETE FROM target_slots WHERE expires_at <= now();
