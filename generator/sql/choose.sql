-- The first tasks of a share that have pieces left, by priority, then age; locked in the order of their ids, as
-- everybody locks tasks, so that nobody waits in a circle. Those that changed while we waited are left out.
WITH chosen AS MATERIALIZED (
    SELECT id FROM tasks
    WHERE share_id = @share::int AND n_generated < n_jobs AND state IN ('ready', 'scouting', 'running')
        AND shape_id = ANY (@shapes::int[])
    ORDER BY priority DESC, id LIMIT @limit::int
)
SELECT t.id, t.shape_id, t.priority, t.max_attempts, t.split, t.per_job, t.n_events, t.n_inputs, t.n_pieces, t.n_split,
    t.n_jobs, t.n_generated, t.retry_after, t.scaled IS NOT NULL AS scaled
FROM tasks t
WHERE t.id IN (SELECT id FROM chosen) AND t.share_id = @share::int AND t.n_generated < t.n_jobs
    AND t.state IN ('ready', 'scouting', 'running')
ORDER BY t.id
FOR UPDATE OF t;
