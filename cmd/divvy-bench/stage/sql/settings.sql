-- Settings of the server that matter for speed, as it shows them.
SELECT name, current_setting(name) AS value
FROM pg_settings
WHERE name IN ('server_version', 'data_directory', 'shared_buffers', 'effective_cache_size', 'fsync', 'synchronous_commit',
    'full_page_writes', 'wal_compression', 'wal_buffers', 'max_wal_size', 'checkpoint_timeout', 'commit_delay', 'jit',
    'random_page_cost', 'autovacuum', 'autovacuum_naptime', 'autovacuum_vacuum_cost_limit')
ORDER BY name;
