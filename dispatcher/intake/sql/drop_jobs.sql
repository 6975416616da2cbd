-- Drops a partition of jobs and one of blocks.
SELECT divvy_drop_jobs(@low::bigint, @high::bigint);
