-- Books a batch of jobs on its tasks. Jobs that cannot be tried again, because the history of the old ones is
-- gone, are taken off the total.
UPDATE tasks t SET n_generated = t.n_generated + b.n_split + b.n_again, n_split = t.n_split + b.n_split,
    retry_after = b.retry_after, n_jobs = t.n_jobs - b.n_gone
FROM unnest((SELECT @tasks::bigint[]), @befores::bigint[], @splits::bigint[], @agains::bigint[], @gones::bigint[], @retry_afters::bigint[])
    AS b (id, before, n_split, n_again, n_gone, retry_after)
WHERE t.id = b.id AND t.n_generated = b.before AND t.state IN ('ready', 'scouting', 'running');
