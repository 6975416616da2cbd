-- All jobs that were ever made, and where they are, in one snapshot. orphans: leases of jobs that are not there; stray: live jobs
-- that their task does not find, or no slot since no range of the ready order has them.
SELECT (SELECT coalesce(sum(n_generated), 0)::bigint FROM tasks) AS made,
    (SELECT count(*) FROM jobs) AS live,
    (SELECT count(*) FROM leases) AS held,
    (SELECT count(*) FROM ended_jobs) AS ended,
    (SELECT count(*) FROM (SELECT id FROM ended_jobs GROUP BY id HAVING count(*) > 1) d) AS ended_twice,
    (SELECT count(*) FROM jobs j JOIN ended_jobs e USING (id)) AS both,
    (SELECT count(*) FROM leases l WHERE NOT EXISTS (SELECT FROM jobs j WHERE j.id = l.job_id)) AS orphans,
    (SELECT count(*) FROM jobs j WHERE coalesce((
        SELECT r.low FROM job_ranges r WHERE r.task_id = j.task_id AND r.high >= j.id ORDER BY r.high LIMIT 1), j.id + 1) > j.id
        OR j.displaced IS NOT TRUE AND j.state = 'ready' AND coalesce((
            SELECT r.low FROM ready_ranges r
            WHERE r.share_id = j.share_id AND r.shape_id = j.shape_id AND r.place = j.place AND r.high >= j.id
            ORDER BY r.high LIMIT 1), j.id + 1) > j.id) AS stray;
