-- Limits of which more is free than there is, with what daemons have of them, and whether they are those of the site in force.
SELECT (SELECT count(*) FROM (
        SELECT FROM limits l LEFT JOIN escrow e USING (kind, ref, pool)
        GROUP BY l.kind, l.ref, l.pool, l.cap, l.free HAVING l.free + coalesce(sum(e.granted), 0) > l.cap
    ) wrong) AS wrong,
    (SELECT count(*) FROM escrow e WHERE NOT EXISTS (SELECT FROM daemons d WHERE d.id = e.daemon_id AND d.closed_at IS NULL)) AS nobodys,
    (SELECT version FROM limit_epoch) AS version, (SELECT coalesce(max(version), 0) FROM site_versions) AS site;
