-- Makes partitions until there is room for so many rows, each of a size; returns how many it made.
SELECT divvy_extend_batches(@room::bigint, @size::bigint);
