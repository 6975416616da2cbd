-- Waits by share and queue.
SELECT row_to_json(r)::text FROM (
    SELECT 'wait_hour' AS kind, hour, share_id, queue_id, bucket, jobs, wait_seconds
    FROM wait_hours
    ORDER BY hour, share_id, queue_id, bucket
) r;
