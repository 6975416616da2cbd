-- Jobs that these tasks have still to make; none named: all that are under way.
SELECT coalesce(sum(n_jobs - n_generated), 0)::bigint FROM tasks
WHERE CASE WHEN cardinality(@tasks::bigint[]) > 0 THEN id = ANY (@tasks::bigint[]) ELSE n_generated < n_jobs AND state IN ('ready', 'scouting', 'running') END;
