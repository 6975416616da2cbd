-- Leases those jobs of a batch that can be leased, remembers the pulls that named a request id, and logs the moves:
-- for batches that lease_all could not lease as a whole.
-- A job is leased when it is still ready in the attempt, share and shape that were decided on, nobody else is at it, and this
-- daemon may still lease under the epoch that it decided by, on the timeline that it decided by. Rows that another grant has locked are not waited
-- for: their pulls are decided again.
WITH guard AS (
    SELECT FROM limit_epoch e, daemons d
    WHERE e.epoch = @epoch::bigint AND d.id = @daemon::bigint AND d.closed_at IS NULL AND (d.timeline = divvy_timeline()) IS NOT FALSE
), wanted AS (
    SELECT *
    FROM unnest(@jobs::bigint[], @attempts::int[], @nonces::bigint[], @pulls::int[], @queues::int[], @units::bigint[],
            @cores::int[], @pilots::text[], @nodes::text[], @shares::int[], @shapes::int[])
        AS w (job_id, attempt, nonce, pull, queue_id, units, cores, pilot, node, share, shape)
    WHERE EXISTS (SELECT FROM guard)
), locked AS (
    SELECT w.*, j.task_id, j.share_id, j.shape_id, j.priority
    FROM wanted w
    JOIN jobs j ON j.id = w.job_id AND j.attempt = w.attempt AND j.share_id = w.share AND j.shape_id = w.shape
    WHERE j.id = ANY (@jobs::bigint[]) AND j.state = 'ready'
        AND (SELECT l.attempt FROM leases l WHERE l.job_id = j.id) IS NULL
    FOR UPDATE OF j SKIP LOCKED
), asked AS (
    SELECT * FROM unnest(@asked::int[], @keys::uuid[], @hashes::bytea[]) AS a (pull, key, hash)
), remembered AS (
    INSERT INTO pulls AS p (key, body_hash, job_ids, nonces)
    SELECT a.key, a.hash, array_agg(l.job_id), array_agg(l.nonce)
    FROM asked a JOIN locked l ON l.pull = a.pull
    GROUP BY a.key, a.hash
    ON CONFLICT (key) DO UPDATE SET body_hash = excluded.body_hash, job_ids = excluded.job_ids,
        nonces = excluded.nonces, at = now()
        WHERE p.at < now() - interval '10 minutes'
    RETURNING key
), leased AS (
    INSERT INTO leases (job_id, attempt, nonce, task_id, share_id, shape_id, queue_id, units, cores, priority,
        pilot, node, daemon_id, expires_at, ttl_s)
    SELECT l.job_id, l.attempt, l.nonce, l.task_id, l.share_id, l.shape_id, l.queue_id, l.units, l.cores, l.priority,
        l.pilot, l.node, @daemon::bigint, now() + make_interval(secs => @ttl_s::int), @ttl_s::int
    FROM locked l
    LEFT JOIN asked a USING (pull)
    WHERE a.key IS NULL OR a.key IN (SELECT key FROM remembered)
    ON CONFLICT (job_id) DO NOTHING
    RETURNING nonce, task_id, share_id, shape_id, queue_id, units
), logged AS (
    INSERT INTO ledger (daemon_id, lane, seq, task_ids, share_ids, shape_ids, queue_ids, befores, afters, ns, units,
        places, low_ids, high_ids)
    SELECT @daemon::bigint, @lane::int, @seq::bigint, array_agg(task_id), array_agg(share_id), array_agg(shape_id),
        array_agg(queue_id), '{r}', '{l}', array_agg(n), array_agg(units), '{0}', '{0}', '{0}'
    FROM (
        SELECT task_id, share_id, shape_id, queue_id, count(*)::int AS n, sum(units)::bigint AS units
        FROM leased GROUP BY task_id, share_id, shape_id, queue_id
    ) m
    HAVING count(*) > 0
)
SELECT EXISTS (SELECT FROM guard) AS current, coalesce(array_agg(nonce), '{}') AS nonces FROM leased;
