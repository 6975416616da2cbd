-- Jobs that these tasks have still to make.
SELECT coalesce(sum(n_jobs - n_generated), 0)::bigint FROM tasks WHERE id = ANY (@tasks::bigint[]);
