-- Closed daemons go when their last ledger row has gone, and with them their positions.
WITH gone AS (
    DELETE FROM daemons d
    WHERE d.closed_at < now() - interval '1 day' AND NOT EXISTS (SELECT FROM ledger l WHERE l.daemon_id = d.id)
    RETURNING d.id
)
DELETE FROM counter_lanes c USING gone WHERE c.daemon_id = gone.id;
