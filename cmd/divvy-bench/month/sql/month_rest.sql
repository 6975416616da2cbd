-- What waits and samples of so many days come to.
WITH waits AS (
    INSERT INTO wait_hours (hour, share_id, queue_id, bucket, jobs, wait_seconds)
    SELECT h, s.id, q.id, b, 10, 10 * 60
    FROM generate_series(date_trunc('hour', now(), 'UTC') - make_interval(days => @days::int), now(), interval '1 hour') AS h
    CROSS JOIN shares s CROSS JOIN queues q CROSS JOIN generate_series(3, 9, 3) AS b
    WHERE s.leaf AND (q.id + s.id) % 8 = 0
)
INSERT INTO fairness_hours (hour, pool, share_id, seconds, target_seconds, held_seconds, missed_seconds, starved_seconds, busy_seconds)
SELECT h, 'default', s.id, 3600, 3600 * 1000, 3600 * 900, 3600 * 100, 0, 3600
FROM generate_series(date_trunc('hour', now(), 'UTC') - make_interval(days => @days::int), now() - interval '1 hour', interval '1 hour') AS h
CROSS JOIN shares s;
