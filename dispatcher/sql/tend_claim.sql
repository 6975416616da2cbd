-- The next claim that needs something done, behind a cursor, locked: jobs of it may have a shape that says another place, or
-- nobody holds it any more and it has lingered, was lost, drains, or no job may be left that would hold it again. Claims that
-- people made stay where they are. Who looks at several says when it began: what is to be looked at again since then is not.
-- What follows in the transaction is planned for the claim, which may be that of five jobs or of a million, and reads by index
-- whatever statistics say: they may be of a moment when nearly all jobs had that claim.
SELECT c.id, c.task_id, c.state, c.sharers, c.unplaced, c.placed_to, c.charge_id, c.share_id, c.queue_id,
    coalesce(c.sharers = 0 AND (c.lost OR c.idle_since + make_interval(secs => c.linger_s) <= now()), false) AS ends, c.tend_at, now() AS at,
    set_config('plan_cache_mode', 'force_custom_plan', true) || set_config('enable_seqscan', 'off', true) AS planned
FROM resource_claims c
WHERE c.tend_at <= now() AND c.tend_at < @until::timestamptz AND (c.tend_at, c.id) > (@at::timestamptz, @after::bigint)
ORDER BY c.tend_at, c.id LIMIT 1
FOR UPDATE OF c SKIP LOCKED;
