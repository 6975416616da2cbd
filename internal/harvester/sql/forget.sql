-- Deletes what is older than a week of a Harvester's: workers that are over or forgotten, numbers, commands, messages,
-- figures; so many of each.
WITH workers AS (
    DELETE FROM harvester_workers WHERE (harvester_id, worker_id) IN (
        SELECT harvester_id, worker_id FROM harvester_workers
        WHERE harvester_id = @harvester::text AND updated_at < now() - interval '7 days'
            AND worker_id < (SELECT max(worker_id) FROM harvester_workers WHERE harvester_id = @harvester::text)
        ORDER BY worker_id LIMIT @n::int)
), numbers AS (
    DELETE FROM harvester_worker_stats WHERE harvester_id = @harvester::text AND updated_at < now() - interval '7 days'
), commands AS (
    DELETE FROM harvester_commands WHERE id IN (
        SELECT id FROM harvester_commands WHERE harvester_id = @harvester::text AND created_at < now() - interval '7 days'
        ORDER BY id LIMIT @n::int)
), dialogs AS (
    DELETE FROM harvester_dialogs WHERE (harvester_id, diag_id) IN (
        SELECT harvester_id, diag_id FROM harvester_dialogs
        WHERE harvester_id = @harvester::text AND said_at < now() - interval '7 days'
        ORDER BY diag_id LIMIT @n::int)
)
DELETE FROM harvester_metrics WHERE (harvester_id, host, at) IN (
    SELECT harvester_id, host, at FROM harvester_metrics
    WHERE harvester_id = @harvester::text AND at < now() - interval '7 days'
    ORDER BY harvester_id, host, at LIMIT @n::int);
