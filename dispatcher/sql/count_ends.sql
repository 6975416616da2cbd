-- How many jobs reached which final state in the hours of a window, by share, kind and queue.
SELECT share_id, shape_id, queue_id, state::text AS state, sum(n)::bigint AS n
FROM end_counters
WHERE hour > now() - make_interval(mins => @minutes::int) - interval '1 hour'
GROUP BY share_id, shape_id, queue_id, state;
