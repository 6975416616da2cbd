-- What shares hold: leases, and claims that hold units there as a job would. Exact, because grants are held back meanwhile.
-- A task that went to another share may have left both behind.
SELECT h.share_id, count(*) AS leases
FROM (
    SELECT l.share_id FROM leases AS l WHERE l.share_id = ANY (@ids::int[])
    UNION ALL
    SELECT c.share_id FROM resource_claims AS c WHERE c.state IN ('bound', 'draining') AND c.charge_id <> 0 AND c.share_id = ANY (@ids::int[])
) AS h
GROUP BY h.share_id
