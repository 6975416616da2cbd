-- How attempts ended at such queues since the last look: those that finished count from the last failure on.
UPDATE black_holes h SET good = CASE WHEN n.bad > 0 THEN 0 ELSE h.good + n.good END, bad_at = CASE WHEN n.bad > 0 THEN now() ELSE h.bad_at END
FROM unnest(@queues::int[], @goods::int[], @bads::int[]) AS n (queue_id, good, bad)
WHERE h.queue_id = n.queue_id;
