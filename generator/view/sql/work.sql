-- Jobs of tasks that are not over, by share, label and processing type: sums of the tasks' own counts, by their index.
SELECT s.path AS share, coalesce(t.attributes->>'label', '') AS label, coalesce(t.attributes->>'processing_type', '') AS processing_type,
    sum(t.n_ready)::bigint AS ready, sum(t.n_leased)::bigint AS leased, sum(t.n_finished + t.n_failed + t.n_cancelled)::bigint AS ended
FROM counted_tasks t
JOIN shares s ON s.id = t.share_id
WHERE t.ended_at IS NULL
GROUP BY 1, 2, 3
ORDER BY 1, 2, 3;
