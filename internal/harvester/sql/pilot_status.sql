-- What the pilot of a worker said of itself.
UPDATE harvester_workers SET pilot_status = @status::text, updated_at = now()
WHERE harvester_id = @harvester::text AND worker_id = @worker::bigint;
