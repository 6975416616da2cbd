-- What was said of jobs that have a lease.
INSERT INTO moves (nth, task, low, high, at, place, from_share, share, running)
SELECT nth, task, low, high, at, place, from_share, share, running
FROM unnest(@nths::bigint[], @tasks::bigint[], @lows::bigint[], @highs::bigint[], @ats::timestamptz[], @places::bigint[], @froms::int[],
        @shares::int[], @running::boolean[])
    AS m (nth, task, low, high, at, place, from_share, share, running);
