-- Bytes of each table that grows with jobs, and of its indexes; partitions together.
WITH watched AS (
    SELECT t AS name, t::regclass AS t
    FROM unnest(ARRAY['jobs', 'job_blocks', 'outbox', 'batches', 'held', 'idle_ranges', 'share_counts', 'task_counts', 'steps', 'end_counts', 'history',
        'attempt_texts', 'hour_usage', 'day_usage', 'task_usage', 'node_usage', 'wait_hours', 'user_wait_hours', 'share_samples', 'replay_checkpoints']) AS t
), parts AS (
    SELECT name, coalesce(p.relid, t) AS rel FROM watched LEFT JOIN LATERAL pg_partition_tree(t) AS p ON true
)
SELECT name, sum(pg_table_size(rel))::float8 AS rows_bytes, sum(pg_indexes_size(rel))::float8 AS index_bytes FROM parts GROUP BY name ORDER BY name;
