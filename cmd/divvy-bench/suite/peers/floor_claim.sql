\set share random(0, 99)
UPDATE floor_jobs SET state = 'leased', worker = :client_id, at = now() WHERE id = (
    SELECT id FROM floor_jobs WHERE share = :share AND state = 'ready' ORDER BY priority, id LIMIT 1 FOR UPDATE SKIP LOCKED);
