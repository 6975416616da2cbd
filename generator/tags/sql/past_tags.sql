-- Tasks of a stretch of time by what rules read of them: the values of the fields that they name (NULL: the task has
-- none), the share that the jobs went to, and the one that the task named itself. Groups, not tasks, are what is sent, the
-- largest first. Tasks that are alike in all are counted first, so that few have to be taken apart.
WITH alike AS (
    SELECT t.share_id, t.own_share_id, t.tagged_by ->> 'verdict' = 'explicit' AS named, t.attributes,
        count(*) AS tasks, sum(t.n_jobs) AS jobs, min(t.id) AS example
    FROM tasks t
    WHERE t.created_at >= now() - make_interval(secs => @since_s::float8)
    GROUP BY t.share_id, t.own_share_id, named, t.attributes
), told AS (
    SELECT a.*, ARRAY(SELECT a.attributes ->> f.name FROM unnest(@fields::text[]) WITH ORDINALITY AS f (name, n) ORDER BY f.n) AS read
    FROM alike a
), groups AS (
    SELECT share_id, own_share_id, named, read, sum(tasks)::bigint AS tasks, sum(jobs)::bigint AS jobs, min(example) AS example
    FROM told GROUP BY share_id, own_share_id, named, read
)
SELECT coalesce(g.share_id, 0) AS share_id, coalesce(s.path, '') AS share, coalesce(g.named, false) AS named,
    coalesce(g.own_share_id, g.share_id, 0) AS own_id, coalesce(own.path, s.path, '') AS own, g.read, g.tasks, g.jobs, g.example
FROM groups g
LEFT JOIN shares s ON s.id = g.share_id
LEFT JOIN shares own ON own.id = g.own_share_id
ORDER BY g.tasks DESC, g.example;
