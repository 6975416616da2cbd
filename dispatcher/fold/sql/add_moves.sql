-- What was said of jobs that have a lease.
INSERT INTO moves (nth, task, low, high, at, place, from_share, share, running)
SELECT nth, task, low, high, at, place, from_share, share, running
FROM unnest(@nth::bigint[], @task::bigint[], @low::bigint[], @high::bigint[], @at::timestamptz[], @place::bigint[], @from::int[],
        @share::int[], @running::boolean[])
    AS m (nth, task, low, high, at, place, from_share, share, running);
