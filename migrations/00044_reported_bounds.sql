-- One attempt with a figure that no bigint holds stopped the roll-ups, and every report of usage, until its row was changed. Daemons
-- bound what pilots say; this is for rows of before. The same with a node's name that no index takes. As 00035 has it, but for cpu_ms and node.

-- +goose Up
CREATE OR REPLACE VIEW attempt_pieces AS
    SELECT a.nth, a.job_id, a.attempt, a.nonce, a.task_id, p.share_id, a.queue_id, left(a.node, 200) AS node, a.cores, a.units, a.outcome, a.claimed_at, a.ended_at,
        to_timestamp(h.hour * 3600) AS hour,
        date '1970-01-01' + (h.hour / 24)::int AS day,
        e.us, e.ends,
        a.cores * e.us * 0.000001 AS slot_seconds,
        a.units * (e.us * 0.000000001) AS unit_seconds,
        CASE WHEN a.outcome IN ('failed', 'lost', 'revoked') THEN a.cores * e.us * 0.000001 ELSE 0 END AS wasted_slot_seconds,
        CASE WHEN e.ends THEN (least(greatest(a.cpu_s, 0), 1000000000) * 1000)::bigint ELSE 0 END AS cpu_ms,
        (e.ends AND a.outcome = 'finished')::int AS finished,
        (e.ends AND a.outcome = 'failed')::int AS failed,
        (e.ends AND a.outcome = 'lost')::int AS lost,
        (e.ends AND a.outcome = 'cancelled')::int AS cancelled,
        (e.ends AND a.outcome = 'revoked')::int AS revoked
    FROM public.attempts a
    CROSS JOIN LATERAL (
        SELECT (extract(epoch FROM a.claimed_at) * 1000000)::bigint AS begun,
            (extract(epoch FROM greatest(a.ended_at, a.claimed_at)) * 1000000)::bigint AS ended
    ) b
    CROSS JOIN LATERAL (
        SELECT a.share_id, true AS last, b.ended AS until, least(b.ended, coalesce((
            SELECT (extract(epoch FROM max(m.until)) * 1000000)::bigint FROM public.lease_pieces m
            WHERE m.job_id = a.job_id AND m.attempt = a.attempt AND m.nonce = a.nonce), b.begun)) AS since
        UNION ALL
        SELECT m.share_id, false, least((extract(epoch FROM m.until) * 1000000)::bigint, b.ended),
            least((extract(epoch FROM m.since) * 1000000)::bigint, b.ended)
        FROM public.lease_pieces m
        WHERE m.job_id = a.job_id AND m.attempt = a.attempt AND m.nonce = a.nonce
    ) p
    CROSS JOIN LATERAL (
        SELECT g.hour FROM generate_series(p.since / 3600000000, p.until / 3600000000) AS g (hour)
        WHERE g.hour % 1 = 0 -- always: PostgreSQL expects five hours then, a thousand otherwise
    ) h
    CROSS JOIN LATERAL (
        SELECT least(p.until, (h.hour + 1) * 3600000000) - greatest(p.since, h.hour * 3600000000) AS us,
            p.last AND h.hour = p.until / 3600000000 AS ends
    ) e;

-- +goose Down
CREATE OR REPLACE VIEW attempt_pieces AS
    SELECT a.nth, a.job_id, a.attempt, a.nonce, a.task_id, p.share_id, a.queue_id, a.node, a.cores, a.units, a.outcome, a.claimed_at, a.ended_at,
        to_timestamp(h.hour * 3600) AS hour,
        date '1970-01-01' + (h.hour / 24)::int AS day,
        e.us, e.ends,
        a.cores * e.us * 0.000001 AS slot_seconds,
        a.units * (e.us * 0.000000001) AS unit_seconds,
        CASE WHEN a.outcome IN ('failed', 'lost', 'revoked') THEN a.cores * e.us * 0.000001 ELSE 0 END AS wasted_slot_seconds,
        CASE WHEN e.ends THEN (a.cpu_s * 1000)::bigint ELSE 0 END AS cpu_ms,
        (e.ends AND a.outcome = 'finished')::int AS finished,
        (e.ends AND a.outcome = 'failed')::int AS failed,
        (e.ends AND a.outcome = 'lost')::int AS lost,
        (e.ends AND a.outcome = 'cancelled')::int AS cancelled,
        (e.ends AND a.outcome = 'revoked')::int AS revoked
    FROM public.attempts a
    CROSS JOIN LATERAL (
        SELECT (extract(epoch FROM a.claimed_at) * 1000000)::bigint AS begun,
            (extract(epoch FROM greatest(a.ended_at, a.claimed_at)) * 1000000)::bigint AS ended
    ) b
    CROSS JOIN LATERAL (
        SELECT a.share_id, true AS last, b.ended AS until, least(b.ended, coalesce((
            SELECT (extract(epoch FROM max(m.until)) * 1000000)::bigint FROM public.lease_pieces m
            WHERE m.job_id = a.job_id AND m.attempt = a.attempt AND m.nonce = a.nonce), b.begun)) AS since
        UNION ALL
        SELECT m.share_id, false, least((extract(epoch FROM m.until) * 1000000)::bigint, b.ended),
            least((extract(epoch FROM m.since) * 1000000)::bigint, b.ended)
        FROM public.lease_pieces m
        WHERE m.job_id = a.job_id AND m.attempt = a.attempt AND m.nonce = a.nonce
    ) p
    CROSS JOIN LATERAL (
        SELECT g.hour FROM generate_series(p.since / 3600000000, p.until / 3600000000) AS g (hour)
        WHERE g.hour % 1 = 0 -- always: PostgreSQL expects five hours then, a thousand otherwise
    ) h
    CROSS JOIN LATERAL (
        SELECT least(p.until, (h.hour + 1) * 3600000000) - greatest(p.since, h.hour * 3600000000) AS us,
            p.last AND h.hour = p.until / 3600000000 AS ends
    ) e;