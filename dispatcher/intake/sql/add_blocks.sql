-- What new jobs have in common, a row a block.
INSERT INTO job_blocks (low, high, task_id, made_at, share_id, shape_id, priority, max_attempts, again)
SELECT b.low, b.high, b.task, @made_at::timestamptz, b.share, b.shape, b.priority, b.max_attempts, b.again
FROM unnest(@lows::bigint[], @highs::bigint[], @tasks::bigint[], @shares::int[], @shapes::int[], @priorities::int[], @max_attempts::int[],
    @agains::boolean[]) AS b (low, high, task, share, shape, priority, max_attempts, again);
