-- A copy of the checkpoint, unless there is a young one: one a minute, or as many as keep it at ten thousand rows a minute.
INSERT INTO checkpoints (daemon_ids, lanes, seqs, share_ids, shape_ids, queue_ids, readies, helds, held_units)
SELECT l.daemon_ids, l.lanes, l.seqs, c.share_ids, c.shape_ids, c.queue_ids, c.readies, c.helds, c.held_units
FROM (
    SELECT coalesce(array_agg(daemon_id), '{}') AS daemon_ids, coalesce(array_agg(lane), '{}') AS lanes, coalesce(array_agg(seq), '{}') AS seqs
    FROM counter_lanes
) l, (
    SELECT coalesce(array_agg(share_id), '{}') AS share_ids, coalesce(array_agg(shape_id), '{}') AS shape_ids,
        coalesce(array_agg(queue_id), '{}') AS queue_ids, coalesce(array_agg(ready), '{}') AS readies,
        coalesce(array_agg(held), '{}') AS helds, coalesce(array_agg(held_units), '{}') AS held_units
    FROM counters WHERE ready <> 0 OR held <> 0 OR held_units <> 0
) c
WHERE NOT EXISTS (
    SELECT FROM (SELECT at, cardinality(share_ids) AS n FROM checkpoints WHERE at > now() - interval '1 hour' ORDER BY at DESC LIMIT 1) last
    WHERE last.at > now() - least(greatest(last.n / 10000.0, 1), 60) * interval '59 s'
);
