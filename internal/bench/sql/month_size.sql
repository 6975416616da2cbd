-- Rows and MB of attempts and of the roll-ups.
SELECT (SELECT count(*) FROM attempts) AS attempts, (SELECT sum(pg_total_relation_size(inhrelid)) / 1e6 FROM pg_inherits WHERE inhparent = 'attempts'::regclass)::float8 AS attempts_mb,
    (SELECT count(*) FROM usage_hours) AS hours, (SELECT count(*) FROM usage_days) AS days,
    ((pg_total_relation_size('usage_hours') + pg_total_relation_size('usage_days') + pg_total_relation_size('usage_tasks') + pg_total_relation_size('usage_nodes')) / 1e6)::float8 AS rollups_mb;
