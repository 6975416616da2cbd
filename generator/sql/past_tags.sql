-- Tasks of a stretch of time by what rules read of them: the fields that they name, the share that the jobs went to,
-- and the one that the task named itself. The largest groups come first; groups, not tasks, are what is sent.
SELECT coalesce(t.share_id, 0) AS share_id, coalesce(s.path, '') AS share, t.tagged_by ->> 'verdict' = 'explicit' AS named,
    coalesce(t.own_share_id, t.share_id, 0) AS own_id, coalesce(own.path, s.path, '') AS own, a.fields AS attributes,
    count(*)::bigint AS tasks, sum(t.n_jobs)::bigint AS jobs, min(t.id) AS example
FROM tasks t
LEFT JOIN shares s ON s.id = t.share_id
LEFT JOIN shares own ON own.id = t.own_share_id
CROSS JOIN LATERAL (
    SELECT coalesce(jsonb_object_agg(f.name, t.attributes -> f.name) FILTER (WHERE t.attributes ? f.name), '{}') AS fields
    FROM unnest(@fields::text[]) AS f (name)
) a
WHERE t.created_at >= now() - make_interval(secs => @since_s::float8)
GROUP BY t.share_id, s.path, named, t.own_share_id, own.path, a.fields
ORDER BY tasks DESC, example;
