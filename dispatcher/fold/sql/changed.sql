-- The next steps that changed counts of tasks, up to where the log is folded, and from where on steps are kept.
SELECT f.seq AS folded, coalesce((SELECT o.before FROM steps o ORDER BY o.seq LIMIT 1), 0) AS oldest, coalesce(s.seq, 0) AS seq,
    coalesce(array_to_string(s.tasks, ' '), '') AS tasks
FROM folded f
LEFT JOIN (
    SELECT seq, tasks FROM steps WHERE seq > @after::bigint ORDER BY seq LIMIT @most::int
) s ON true
ORDER BY s.seq;
