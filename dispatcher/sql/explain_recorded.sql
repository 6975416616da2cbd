-- How many decisions of the seconds around a time have a record, and how many they stand for.
SELECT count(*), coalesce(sum(r.weight), 0)::bigint
FROM decisions d
CROSS JOIN LATERAL unnest(d.ms_ago, d.weights) AS r (ms_ago, weight)
WHERE d.written_at >= @claimed_at::timestamptz - interval '1 second' AND d.written_at < @claimed_at::timestamptz + interval '20 seconds'
    AND abs(extract(epoch FROM d.written_at - r.ms_ago * interval '1 millisecond' - @claimed_at::timestamptz)) <= 1;
