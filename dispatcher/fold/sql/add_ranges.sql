-- New ranges.
INSERT INTO idle_ranges (high, low, task, place, share, shape, attempt, state)
SELECT high, low, task, place, share, shape, attempt, state::"char"
FROM unnest(@high::bigint[], @low::bigint[], @task::bigint[], @place::bigint[], @share::int[], @shape::int[], @attempt::int[],
        @state::text[])
    AS r (high, low, task, place, share, shape, attempt, state);
