-- The first tasks of the users of a share who lack jobs of a shape: the first of each by priority, then age, then the second of each, and
-- so on, so that nobody's are behind the many of somebody else.
WITH wanted AS MATERIALIZED (
    SELECT user_name, shape_id FROM unnest(@users::text[], @shapes::int[]) AS w (user_name, shape_id)
)
SELECT id
FROM (
    SELECT t.id, t.priority, row_number() OVER (PARTITION BY t.user_name ORDER BY t.priority DESC, t.id) AS nth
    FROM tasks t
    WHERE t.share_id = @share::int AND t.n_generated < t.n_jobs AND t.state IN ('ready', 'scouting', 'running')
        AND (t.quota IS NULL OR t.n_generated < t.quota)
        AND CASE WHEN t.lots IS NULL THEN (t.user_name, t.shape_id) IN (SELECT user_name, shape_id FROM wanted)
            ELSE EXISTS (SELECT FROM lots l JOIN wanted w ON w.shape_id = ANY (l.shape_ids) WHERE l.task_id = t.id AND w.user_name = t.user_name) END
) first
ORDER BY nth, priority DESC, id
LIMIT @limit::int;
