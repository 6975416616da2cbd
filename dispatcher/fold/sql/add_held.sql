-- New leases. One of a job that has one already was odd and is left out.
INSERT INTO held (job, nonce, task, place, units, granted_at, request, attempt, share, shape, queue, start_delay_ms, grace_s, pilot, node, reason)
SELECT job, nonce, task, place, units, 'epoch'::timestamptz + granted_us * interval '1 microsecond', request, attempt, share, shape, queue,
    start_delay_ms, grace_s, pilot, node, reason
FROM unnest(@jobs::bigint[], @nonces::bigint[], @tasks::bigint[], @places::bigint[], @units::bigint[], @granted_us::bigint[],
        @requests::uuid[], @attempts::int[], @shares::int[], @shapes::int[], @queues::int[], @start_delays_ms::int[], @graces_s::int[],
        @pilots::text[], @nodes::text[], @reasons::text[])
    AS g (job, nonce, task, place, units, granted_us, request, attempt, share, shape, queue, start_delay_ms, grace_s, pilot, node, reason)
ON CONFLICT (job) DO NOTHING;
