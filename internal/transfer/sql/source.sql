-- The release of the daemon that started last, and what is not over.
SELECT coalesce((SELECT version FROM daemons ORDER BY id DESC LIMIT 1), '') AS release,
    (SELECT count(*) FROM tasks WHERE ended_at IS NULL) AS tasks, (SELECT count(*) FROM held) AS leases;
