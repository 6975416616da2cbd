-- Tasks that somebody wants to say something to, by rising id: those with the ids, whether they exist or not, or those that
-- have all that is asked for. An empty argument selects nothing away; a share stands for all below it too.
SELECT t.id, t.name, t.user_name, t.state, coalesce(t.resume_state, '') AS resume_state, t.priority, coalesce(s.path, '') AS share, t.attributes
FROM tasks t
LEFT JOIN shares s ON s.id = t.share_id
LEFT JOIN shares own ON own.id = t.own_share_id
WHERE cardinality(@ids::bigint[]) = 0 AND t.id > @after::bigint
    AND (@user::text = '' OR t.user_name = @user::text)
    AND (cardinality(@states::text[]) = 0 OR t.state = ANY (@states::text[]))
    AND (@label::text = '' OR t.attributes ->> 'label' = @label::text)
    AND (@name::text = '' OR t.name LIKE @name::text)
    AND (@share::text = '' OR coalesce(own.path, s.path) = @share::text
        OR starts_with(coalesce(own.path, s.path), @share::text || '/'))
UNION ALL
SELECT i.id, coalesce(t.name, ''), coalesce(t.user_name, ''), coalesce(t.state, ''), coalesce(t.resume_state, ''), coalesce(t.priority, 0),
    coalesce(s.path, ''), coalesce(t.attributes, '{}')
FROM (SELECT DISTINCT unnest(@ids::bigint[]) AS id) i
LEFT JOIN tasks t ON t.id = i.id
LEFT JOIN shares s ON s.id = t.share_id
WHERE i.id > @after::bigint
ORDER BY id
LIMIT @limit::int;
