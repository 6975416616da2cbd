-- The checkpoint that is nearest to a moment: the last before it, else the first after it.
SELECT daemon_ids, lanes, seqs, share_ids, shape_ids, queue_ids, readies, helds, held_units
FROM checkpoints
ORDER BY at > @at::timestamptz, CASE WHEN at > @at::timestamptz THEN at - @at::timestamptz ELSE @at::timestamptz - at END
LIMIT 1;
