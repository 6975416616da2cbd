-- Queues that were found, or where probes ended.
INSERT INTO black_holes (queue_id, since, ends, fails, good, bad_at, probe_s)
SELECT h.queue, h.since, h.ends, h.fails, h.good, h.bad_at, h.probe_s
FROM unnest(@queue_id::int[], @since::timestamptz[], @ends::int[], @fails::int[], @good::int[], @bad_at::timestamptz[], @probe_s::int[])
    AS h (queue, since, ends, fails, good, bad_at, probe_s)
ON CONFLICT (queue_id) DO UPDATE SET good = excluded.good, bad_at = excluded.bad_at, probe_s = excluded.probe_s;
