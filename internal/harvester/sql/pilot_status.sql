-- What the pilot of a worker said of itself, and where it is.
UPDATE harvester_workers SET pilot_status = @status::text, updated_at = now(),
    fields = fields || CASE WHEN @node::text = '' THEN '{}' ELSE jsonb_build_object('nodeID', @node::text) END
WHERE harvester_id = @harvester::text AND worker_id = @worker::bigint;
