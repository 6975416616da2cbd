-- Who has and who waits for our advisory locks, by class: the first key of the pair.
SELECT classid::bigint AS class, count(*) FILTER (WHERE granted) AS held, count(*) FILTER (WHERE NOT granted) AS waiting,
    coalesce(extract(epoch FROM now() - min(waitstart)), 0)::float8 AS longest_s
FROM pg_locks
WHERE locktype = 'advisory' AND objsubid = 2 AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
GROUP BY classid;
