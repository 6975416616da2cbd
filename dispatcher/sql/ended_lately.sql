-- How attempts ended at queues in the last hour, by queue. Those that somebody called off say nothing about it.
SELECT h.queue, count(*) AS ended, count(*) FILTER (WHERE h.outcome IN ('x', 'l')) AS failed
FROM history h
WHERE h.ended_at > now() - interval '1 hour' AND h.outcome IN ('f', 'x', 'l')
GROUP BY h.queue;
