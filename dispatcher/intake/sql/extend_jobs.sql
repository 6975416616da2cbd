-- Makes partitions until there is room for so many ids, each of a size; returns how many it made.
SELECT divvy_extend_jobs(@room::bigint, @size::bigint);
