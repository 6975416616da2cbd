-- How many workers there are: as they were counted within four hours, and of queues that a Harvester did not count, its
-- workers that are not over, by their own index.
WITH counted AS (
    SELECT harvester_id, queue, job_type, resource_type, status, n
    FROM harvester_worker_stats WHERE updated_at > now() - interval '4 hours'
)
SELECT harvester_id, queue, job_type, resource_type, status, n FROM counted
UNION ALL
SELECT w.harvester_id, w.queue, w.job_type, w.resource_type, w.status, count(*) AS n
FROM harvester_workers w
WHERE w.status NOT IN ('finished', 'failed', 'cancelled', 'missed') AND w.updated_at > now() - interval '7 days'
    AND NOT EXISTS (SELECT FROM counted c WHERE c.harvester_id = w.harvester_id AND c.queue = w.queue)
GROUP BY w.harvester_id, w.queue, w.job_type, w.resource_type, w.status
ORDER BY 2, 1, 3, 4, 5;
