-- Leases jobs where they lie and logs the moves, all or nothing: what a batch costs as long as nobody else is at its
-- jobs. When one of them is not ready any more in the attempt, share and shape that were decided on, lies elsewhere, is in somebody's
-- hands, or this daemon may not lease under that epoch any more, seq is NULL, the transaction fails, and lease.sql
-- sorts it out by primary key. What claims hold that are bound with the leases comes behind the jobs in the columns of the
-- ledger's row, so those are longer than the others: no job lies nowhere.
WITH leased AS (
    INSERT INTO leases (job_id, attempt, nonce, task_id, share_id, shape_id, queue_id, units, cores, priority,
        pilot, node, daemon_id, expires_at, ttl_s)
    SELECT j.id, j.attempt, w.nonce, j.task_id, j.share_id, j.shape_id, w.queue_id, w.units, w.cores, j.priority,
        w.pilot, w.node, @daemon::bigint, now() + make_interval(secs => @ttl_s::int), @ttl_s::int
    FROM unnest(@jobs::bigint[], @attempts::int[], @nonces::bigint[], @queues::int[], @units::bigint[], @cores::int[],
            @pilots::text[], @nodes::text[], @rows::tid[], @shares::int[], @shapes::int[])
        AS w (job_id, attempt, nonce, queue_id, units, cores, pilot, node, row, share, shape)
    JOIN jobs j ON j.ctid = w.row
    WHERE j.id = w.job_id AND j.attempt = w.attempt AND j.state = 'ready' AND j.share_id = w.share AND j.shape_id = w.shape
    FOR UPDATE OF j SKIP LOCKED
    RETURNING 1
)
INSERT INTO ledger (daemon_id, lane, seq, task_ids, share_ids, shape_ids, queue_ids, befores, afters, ns, units,
    places, low_ids, high_ids)
SELECT @daemon::bigint, @lane::int,
    CASE WHEN (SELECT count(*) FROM leased) = cardinality(@jobs::bigint[]) AND EXISTS (
        SELECT FROM limit_epoch e, daemons d
        WHERE e.epoch = @epoch::bigint AND d.id = @daemon::bigint AND d.closed_at IS NULL AND (d.timeline = divvy_timeline()) IS NOT FALSE
    ) THEN @seq::bigint END,
    @tasks::bigint[], @shares::int[], @shapes::int[], @queues::int[], @befores::text[], '{l}', '{1}', @units::bigint[],
    '{0}', '{0}', '{0}';
