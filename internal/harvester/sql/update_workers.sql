-- Workers as their Harvester describes them. Times that it does not say stay.
INSERT INTO harvester_workers AS w (harvester_id, worker_id, queue, status, job_type, resource_type, fields, submitted_at, started_at, ended_at)
SELECT @harvester::text, n.id, n.queue, n.status, n.job_type, n.resource_type, n.fields, n.submitted, n.started, n.ended
FROM unnest(@ids::bigint[], @queues::text[], @statuses::text[], @job_types::text[], @resource_types::text[], @fields::jsonb[],
        @submitted::timestamptz[], @started::timestamptz[], @ended::timestamptz[])
    AS n (id, queue, status, job_type, resource_type, fields, submitted, started, ended)
ON CONFLICT (harvester_id, worker_id) DO UPDATE SET queue = coalesce(nullif(excluded.queue, ''), w.queue), status = excluded.status,
    job_type = coalesce(nullif(excluded.job_type, ''), w.job_type),
    resource_type = coalesce(nullif(excluded.resource_type, ''), w.resource_type), fields = w.fields || excluded.fields,
    submitted_at = coalesce(excluded.submitted_at, w.submitted_at), started_at = coalesce(excluded.started_at, w.started_at),
    ended_at = coalesce(excluded.ended_at, w.ended_at), updated_at = now();
