-- What every share holds at every queue, counted from the leases.
SELECT share_id, queue_id, count(*) AS jobs, sum(cores)::bigint AS cores, sum(units)::bigint AS units
FROM leases GROUP BY share_id, queue_id;
