-- The first tasks of a share that have pieces left, by priority, then age; locked in the order of their ids, as
-- everybody locks tasks, so that nobody waits in a circle. Those that changed while we waited are left out. Second halves of
-- pieces are left out of both numbers: what is cut, or released, is numbered without them. Where the share gives jobs by fair turn
-- among users choose_by_turn has said which tasks these are.
WITH chosen AS MATERIALIZED (
    SELECT id FROM tasks t
    WHERE share_id = @share::int AND n_generated < n_jobs AND state IN ('ready', 'scouting', 'running')
        AND (quota IS NULL OR n_generated < quota)
        AND CASE WHEN lots IS NULL THEN shape_id = ANY (@shapes::int[])
            ELSE EXISTS (SELECT FROM lots l WHERE l.task_id = t.id AND l.shape_ids && @shapes::int[]) END
        AND (@only::bigint[] IS NULL OR id = ANY (@only::bigint[]))
    ORDER BY priority DESC, id LIMIT @limit::int
)
SELECT t.id, t.shape_id, t.priority, t.max_attempts, t.split, t.per_job, t.n_events, t.n_inputs, coalesce(t.n_released, t.n_pieces) - coalesce(t.n_halves, 0) AS n_pieces,
    t.n_split - coalesce(t.n_halves, 0) AS n_split, t.n_jobs, t.n_generated, coalesce(t.quota, t.n_jobs) AS quota, t.retry_after, t.scaled IS NOT NULL AS scaled,
    coalesce(t.lots, 0) AS n_lots, t.scouts IS NOT NULL AND t.scouted IS NULL AS scouting,
    t.n_released IS NOT NULL AS released, CASE WHEN @only::bigint[] IS NULL THEN '' ELSE t.user_name END AS user_name
FROM tasks t
WHERE t.id IN (SELECT id FROM chosen) AND t.share_id = @share::int AND t.n_generated < t.n_jobs
    AND t.state IN ('ready', 'scouting', 'running')
ORDER BY t.id
FOR UPDATE OF t;
