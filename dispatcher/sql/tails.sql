-- New rows of the lanes that are followed, each lane in its order.
SELECT l.daemon_id, l.lane, l.seq, l.task_ids, l.share_ids, l.shape_ids, l.queue_ids, l.befores, l.afters, l.ns, l.units,
    l.places, l.low_ids, l.high_ids
FROM unnest(@daemons::bigint[], @lanes::int[], @seqs::bigint[]) AS f (daemon_id, lane, seq)
CROSS JOIN LATERAL (
    SELECT * FROM ledger t
    WHERE t.daemon_id = f.daemon_id AND t.lane = f.lane AND t.seq > f.seq
    ORDER BY t.seq LIMIT @n::int
) l
ORDER BY l.daemon_id, l.lane, l.seq;
