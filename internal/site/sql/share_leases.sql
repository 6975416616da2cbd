-- What shares hold, as of the last fold: leases, and claims that hold units there as a job would. A task that went to another share may have
-- left both behind.
SELECT h.share AS share_id, sum(h.held)::bigint AS leases
FROM (
    SELECT c.share, c.held FROM share_counts AS c WHERE c.share = ANY (@ids::int[]) AND c.held > 0
    UNION ALL
    SELECT c.share, 1 FROM claims AS c WHERE c.ended_at IS NULL AND c.state IN ('bound', 'draining') AND c.share = ANY (@ids::int[])
) AS h
GROUP BY h.share
