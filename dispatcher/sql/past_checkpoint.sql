-- The checkpoint that is nearest to a moment: the last before it, else the first after it.
SELECT daemon_ids, lanes, seqs, share_ids, shape_ids, queue_ids, readies, helds, held_units
FROM (
    (SELECT false AS later, c.* FROM checkpoints c WHERE c.at <= @at::timestamptz ORDER BY c.at DESC LIMIT 1)
    UNION ALL
    (SELECT true AS later, c.* FROM checkpoints c WHERE c.at > @at::timestamptz ORDER BY c.at LIMIT 1)
) near
ORDER BY later
LIMIT 1;
