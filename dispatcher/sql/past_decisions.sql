-- The next rows of a daemon's decision records.
SELECT written_at, version, turn, ms_ago, job_ids, queue_ids, share_ids, deficits, runner_up_ids, runner_up_deficits, candidates,
    units, rounds, weights, turns, kinds, shapes, floors
FROM decisions
WHERE daemon_id = @daemon::bigint AND (written_at, turn) > (@at::timestamptz, @turn::bigint) AND written_at <= @until::timestamptz
ORDER BY written_at, turn
LIMIT 4;
