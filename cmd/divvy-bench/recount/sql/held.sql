-- What every share holds at every queue, counted from the leases.
SELECT h.share AS share_id, h.queue AS queue_id, count(*) AS jobs, sum(s.cores)::bigint AS cores, sum(h.units)::bigint AS units
FROM leases_now h JOIN shapes s ON s.id = h.shape
GROUP BY h.share, h.queue;
