-- How far the tables are behind the log, how old its newest batch is, and how many batches there is room for. At is of the batch up to which
-- the tables are made.
SELECT coalesce(n.seq, 0) AS seq, f.seq AS folded,
    CASE WHEN n.seq > f.seq THEN extract(epoch FROM now() - (SELECT b.at FROM batches b WHERE b.seq > f.seq ORDER BY b.seq LIMIT 1)) ELSE 0 END::float8 AS behind_s,
    coalesce(extract(epoch FROM now() - n.at), 0)::float8 AS silent_s,
    coalesce((SELECT max(substring(pg_get_expr(c.relpartbound, c.oid) FROM 'TO \(''(\d+)''\)')::bigint)
        FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'batches'::regclass), 1) - 1 - coalesce(n.seq, 0) AS room,
    coalesce((SELECT max(substring(pg_get_expr(c.relpartbound, c.oid) FROM 'TO \(''(\d+)''\)')::bigint)
        FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'job_blocks'::regclass), 1) - 1
        - (SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM job_ids) AS jobs_room
FROM folded f
LEFT JOIN LATERAL (SELECT b.seq, b.at FROM batches b ORDER BY b.seq DESC LIMIT 1) n ON true;
