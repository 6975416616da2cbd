-- Replaces the numbers of a Harvester's workers at a queue.
WITH said AS (
    SELECT job_type, resource_type, status, max(n) AS n
    FROM unnest(@job_types::text[], @resource_types::text[], @statuses::text[], @ns::bigint[]) AS r (job_type, resource_type, status, n)
    GROUP BY job_type, resource_type, status
), gone AS (
    DELETE FROM harvester_worker_stats s
    WHERE s.harvester_id = @harvester::text AND s.queue = @queue::text
        AND (s.job_type, s.resource_type, s.status) NOT IN (SELECT job_type, resource_type, status FROM said)
)
INSERT INTO harvester_worker_stats (harvester_id, queue, job_type, resource_type, status, n)
SELECT @harvester::text, @queue::text, job_type, resource_type, status, n FROM said
ON CONFLICT (harvester_id, queue, job_type, resource_type, status) DO UPDATE SET n = excluded.n, updated_at = now();
