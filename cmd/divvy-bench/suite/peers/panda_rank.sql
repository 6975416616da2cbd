-- All leaves, the one furthest below its target first. PanDA keeps the answer for ten seconds in each process.
SELECT s.share
FROM panda_shares s
LEFT JOIN (
    SELECT share, sum(units) AS used FROM panda_jobs WHERE status IN ('sent', 'starting', 'running') GROUP BY share
) u USING (share)
ORDER BY coalesce(u.used, 0) / s.target, s.share;
