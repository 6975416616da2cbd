-- Waits by user.
SELECT row_to_json(r)::text FROM (
    SELECT 'user_wait_hour' AS kind, hour, user_name, bucket, jobs, wait_seconds
    FROM user_wait_hours
    ORDER BY hour, user_name, bucket
) r;
