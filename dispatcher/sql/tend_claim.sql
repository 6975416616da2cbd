-- The next claim that needs something done, locked: jobs of it may have a shape that says another place, or nobody holds it
-- any more and it has lingered, was lost, drains, or no job is left that may hold it again. Claims that people made stay
-- where they are.
SELECT c.id, c.task_id, c.state, c.sharers, c.unplaced, c.placed_to, c.charge_id, c.share_id, c.queue_id,
    coalesce(c.sharers = 0 AND (c.lost OR c.idle_since + make_interval(secs => c.linger_s) <= now()), false) AS ends
FROM resource_claims c
WHERE (c.unplaced OR c.state IN ('bound', 'draining') AND c.sharers = 0) AND c.id > @after::bigint
    AND (c.unplaced OR c.state = 'draining' OR c.task_id <> 0
        AND (c.lost OR c.idle_since + make_interval(secs => c.linger_s) <= now() OR NOT EXISTS (SELECT FROM jobs j WHERE j.claims @> ARRAY[c.id])))
ORDER BY c.id LIMIT 1
FOR UPDATE OF c SKIP LOCKED;
