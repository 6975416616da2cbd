-- Leases that started or are to end.
UPDATE held h SET start_delay_ms = a.start_delay_ms, ttl_s = a.ttl_s, grace_s = a.grace_s, reason = a.reason
FROM unnest(@job::bigint[], @attempt::int[], @start_delay_ms::int[], @ttls::int[], @grace_s::int[], @reason::text[])
    AS a (job, attempt, start_delay_ms, ttl_s, grace_s, reason)
WHERE h.job = ANY (@job::bigint[]) AND h.job = a.job AND h.attempt = a.attempt;
