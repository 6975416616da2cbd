-- The highest id of a Harvester's workers: the end of the primary key's index.
SELECT coalesce((SELECT worker_id FROM harvester_workers WHERE harvester_id = @harvester::text ORDER BY worker_id DESC LIMIT 1), 0) AS id;
