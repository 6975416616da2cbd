-- Tells every Harvester that has workers at a queue, or counts them, to end some.
INSERT INTO harvester_commands (harvester_id, command, params)
SELECT h.harvester_id, 'KILL_WORKERS', @params::jsonb
FROM (
    SELECT harvester_id FROM harvester_workers
    WHERE queue = @queue::text AND status NOT IN ('finished', 'failed', 'cancelled', 'missed')
    UNION
    SELECT harvester_id FROM harvester_worker_stats WHERE queue = @queue::text AND n > 0 AND updated_at > now() - interval '4 hours'
) h
ORDER BY h.harvester_id;
