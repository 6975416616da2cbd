-- Takes out the leases of attempts that ended, for they go into history.
DELETE FROM held h USING unnest(@job::bigint[], @attempt::int[]) AS e (job, attempt)
WHERE h.job = ANY (@job::bigint[]) AND h.job = e.job AND h.attempt = e.attempt
RETURNING h.job, h.nth, h.nonce, h.task, h.place, h.units, h.granted_at, h.request, h.attempt, h.share, h.shape, h.queue, h.start_delay_ms,
    h.ttl_s, h.grace_s, h.pilot, h.node, h.reason;
