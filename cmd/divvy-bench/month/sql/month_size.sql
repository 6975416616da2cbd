-- Rows and MB of attempts and of the roll-ups.
SELECT (SELECT count(*) FROM history) AS attempts,
    (SELECT sum(pg_total_relation_size(inhrelid)) / 1e6 FROM pg_inherits WHERE inhparent = 'history'::regclass)::float8 AS attempts_mb,
    (SELECT count(*) FROM hour_usage) AS hours, (SELECT count(*) FROM day_usage) AS days, (SELECT count(*) FROM held) AS held,
    ((pg_total_relation_size('hour_usage') + pg_total_relation_size('day_usage') + pg_total_relation_size('task_usage')
        + pg_total_relation_size('node_usage') + pg_total_relation_size('end_counts')) / 1e6)::float8 AS rollups_mb;
