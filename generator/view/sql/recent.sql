-- The newest tasks of all users, the last first. It looks no further back than so many ids: a narrow choice would read the
-- whole table otherwise. A task that is not over counts as changed just now.
SELECT t.id, t.name, t.user_name, coalesce(own.path, s.path, '') AS share,
    CASE WHEN own.id IS NULL THEN '' ELSE coalesce(s.path, '') END AS job_share, t.state, t.n_jobs, t.n_waiting, t.n_ready,
    t.n_leased, t.n_finished, t.n_failed, t.n_cancelled, t.n_pieces, t.n_inputs, t.priority, t.max_attempts,
    CASE WHEN t.state IN ('ready', 'scouting', 'running') THEN coalesce(t.limited, t.reason) ELSE t.reason END AS reason,
    t.attributes, t.tagged_by, t.site_version, t.created_at, t.committed_at, t.started_at, t.ended_at, t.spec, t.parameters, t.scaled,
    coalesce(t.scouts, 0) AS scouts, t.scouted
FROM counted_tasks t
LEFT JOIN shares s ON s.id = t.share_id
LEFT JOIN shares own ON own.id = t.own_share_id
WHERE t.id > (SELECT coalesce(max(m.id), 0) FROM tasks m) - @reach::bigint
    AND t.id > @after::bigint
    AND (cardinality(@states::text[]) = 0 OR t.state = ANY (@states::text[]))
    AND (@label::text = '' OR t.attributes ->> 'label' = @label::text)
    AND (@name::text = '' OR t.name = @name::text)
    AND (@request::text = '' OR coalesce(t.parameters -> 'panda' ->> 'reqID', t.id::text) = @request::text)
    AND (@since::timestamptz IS NULL OR t.ended_at IS NULL OR t.ended_at > @since::timestamptz)
ORDER BY t.id DESC
LIMIT @limit::int;
