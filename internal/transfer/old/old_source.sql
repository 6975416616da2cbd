-- The release of the daemon that started last, and what is not over, of a database up to 0.10.
SELECT coalesce((SELECT version FROM daemons ORDER BY id DESC LIMIT 1), '') AS release,
    (SELECT count(*) FROM tasks WHERE ended_at IS NULL) AS tasks, (SELECT count(*) FROM leases) AS leases;
