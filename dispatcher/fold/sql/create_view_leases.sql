-- held as people see it: who is charged now, and the order to end, be it of the lease alone or of its task.
CREATE VIEW leases_now AS
SELECT h.job, h.task, h.attempt, CASE WHEN h.task IN (SELECT m.task FROM moves m WHERE m.share <> 0) THEN divvy_payer(h.task, h.job, h.nth, h.share)
        ELSE h.share END AS share,
    h.shape, h.queue, h.units, h.granted_at, h.start_delay_ms, h.pilot, h.node, coalesce(k.reason, h.reason) AS reason,
    coalesce(k.grace_s, h.grace_s) AS grace_s
FROM held h
LEFT JOIN LATERAL (
    SELECT o.reason, o.grace_s FROM kills o
    WHERE o.task = h.task AND h.job BETWEEN o.low AND o.high AND NOT o.idle ORDER BY o.nth DESC LIMIT 1
) k ON true;
