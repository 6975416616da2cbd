-- MB of the tables of what lives, with their indexes.
SELECT (sum(pg_total_relation_size(t::regclass)) / 1e6)::float8
FROM unnest(ARRAY['held', 'idle_ranges', 'tasks', 'task_counts', 'share_counts', 'expected', 'latest', 'outbox', 'shapes', 'payloads']) AS t;
