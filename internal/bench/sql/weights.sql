-- Bytes of each table that grows with jobs, and of its indexes; partitions together.
WITH watched AS (
    SELECT t AS name, t::regclass AS t
    FROM unnest(ARRAY['jobs', 'leases', 'lease_reports', 'ledger', 'counters', 'ended_jobs', 'attempts', 'usage_hours', 'usage_days', 'usage_tasks', 'usage_nodes', 'wait_hours',
        'decisions', 'diaries', 'checkpoints', 'pulls']) AS t
), parts AS (
    SELECT name, coalesce(p.relid, t) AS rel FROM watched LEFT JOIN LATERAL pg_partition_tree(t) AS p ON true
)
SELECT name, sum(pg_table_size(rel))::float8 AS rows_bytes, sum(pg_indexes_size(rel))::float8 AS index_bytes FROM parts GROUP BY name ORDER BY name;
