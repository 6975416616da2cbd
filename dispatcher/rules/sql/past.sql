-- The last attempt of jobs that did not finish, and how many of all were returned, from the time on at which the oldest of the jobs was made.
SELECT h.job, max(h.attempt) AS attempt, (count(*) FILTER (WHERE h.outcome = 'r'))::int AS returned
FROM history h
WHERE h.job = ANY (@jobs::bigint[]) AND h.ended_at >= @since::timestamptz AND h.outcome <> 'f'
GROUP BY h.job;
