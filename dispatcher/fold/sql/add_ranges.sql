-- New ranges.
INSERT INTO idle_ranges (high, low, task, place, share, shape, attempt, state)
SELECT high, low, task, place, share, shape, attempt, state::"char"
FROM unnest(@highs::bigint[], @lows::bigint[], @tasks::bigint[], @places::bigint[], @shares::int[], @shapes::int[], @attempts::int[],
        @states::text[])
    AS r (high, low, task, place, share, shape, attempt, state);
