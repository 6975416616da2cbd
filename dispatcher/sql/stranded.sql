-- Whether closed daemons have units that no limit counts: in escrow, or of leases that they ended after the limits were computed.
SELECT EXISTS (
    SELECT FROM escrow e JOIN daemons d ON d.id = e.daemon_id WHERE d.closed_at IS NOT NULL AND e.granted <> 0
) OR EXISTS (
    SELECT
    FROM daemons d
    JOIN ledger_lanes a ON a.daemon_id = d.id
    LEFT JOIN limit_lanes b ON b.daemon_id = a.daemon_id AND b.lane = a.lane
    CROSS JOIN LATERAL (
        SELECT FROM ledger l
        WHERE l.daemon_id = a.daemon_id AND l.lane = a.lane AND l.seq > coalesce(b.seq, 0)
            AND ('l' = ANY (l.befores) OR 'l' = ANY (l.afters))
        LIMIT 1
    ) late
    WHERE d.closed_at IS NOT NULL
) AS stranded;
