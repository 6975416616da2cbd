-- Leases that started or are to end.
UPDATE held h SET start_delay_ms = a.start_delay_ms, ttl_s = a.ttl_s, grace_s = a.grace_s, reason = a.reason
FROM unnest(@jobs::bigint[], @attempts::int[], @start_delays_ms::int[], @ttls_s::int[], @graces_s::int[], @reasons::text[])
    AS a (job, attempt, start_delay_ms, ttl_s, grace_s, reason)
WHERE h.job = ANY (@jobs::bigint[]) AND h.job = a.job AND h.attempt = a.attempt;
