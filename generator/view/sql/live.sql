-- The work of each share: tasks that are not over, in the share that they named and in the one that their jobs go to,
-- and the jobs in the latter, with the pieces that are to become jobs.
SELECT s.share_id, count(*)::bigint AS tasks, coalesce(sum(t.n_waiting) FILTER (WHERE s.jobs), 0)::bigint AS waiting,
    coalesce(sum(t.n_ready) FILTER (WHERE s.jobs), 0)::bigint AS ready,
    coalesce(sum(t.n_leased) FILTER (WHERE s.jobs), 0)::bigint AS leased,
    coalesce(sum(t.n_jobs - t.n_generated) FILTER (WHERE s.jobs AND t.state NOT IN ('finishing', 'aborting')), 0)::bigint AS pieces
FROM counted_tasks t
CROSS JOIN LATERAL (VALUES (t.share_id, true), (nullif(t.own_share_id, t.share_id), false)) s (share_id, jobs)
WHERE t.ended_at IS NULL AND s.share_id IS NOT NULL
GROUP BY s.share_id;
