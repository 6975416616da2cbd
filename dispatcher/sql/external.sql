-- What the servers of resources have said since a moment; all of it at first. There are few: one row a resource.
SELECT name, queue_id, total, used, settled, reported_at, extract(epoch FROM now() - reported_at)::float8 AS age_s
FROM resource_external
WHERE reported_at >= @after::timestamptz;
