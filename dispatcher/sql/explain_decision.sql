-- The record of the grant of a job at a time. Records are written within a second, or some sixteen while the database is
-- away; the ledger row of the grant is of the same transaction as the lease, so its time tells attempts of older records apart.
SELECT d.written_at - r.ms_ago * interval '1 millisecond' AS at, d.daemon_id, r.lane::int AS lane, r.seq,
    coalesce(s.path, '') AS share, r.deficit::float8 AS deficit, coalesce(n.path, '') AS runner_up,
    r.runner_up_deficit::float8 AS runner_up_deficit, r.candidates, r.units / 1000.0::float8 AS units,
    r.round / 1000.0::float8 AS round, r.weight, d.version,
    coalesce(r.cores, d.cores[1], 0) AS cores, coalesce(r.unfit, d.unfits[1], 0) AS unfit, coalesce(r.barred, d.barreds[1], 0) AS barred,
    coalesce(d.pull + coalesce(r.pull, d.pulls[1]), 0) AS pull, coalesce(r.floor, d.floors[1], false) AS floor,
    coalesce(d.level_deficits[r.level_end - coalesce(r.depth, d.depths[1]) + 1 : r.level_end], '{}')::float8[] AS level_deficits,
    ARRAY(SELECT coalesce(k.path, '') FROM unnest(d.skipped_ids[r.skip_end - coalesce(r.skip, d.skips[1]) + 1 : r.skip_end]) WITH ORDINALITY AS i (id, nth)
        LEFT JOIN shares k ON k.id = i.id ORDER BY i.nth) AS skipped,
    coalesce(substr(d.skipped_words, r.skip_end - coalesce(r.skip, d.skips[1]) + 1, coalesce(r.skip, d.skips[1])), '') AS skipped_words
FROM decisions d
CROSS JOIN LATERAL (
    SELECT u.*, (sum(coalesce(u.depth, d.depths[1])) OVER so_far)::int AS level_end, (sum(coalesce(u.skip, d.skips[1])) OVER so_far)::int AS skip_end
    FROM unnest(d.ms_ago, d.lanes, d.seqs, d.job_ids, d.share_ids, d.deficits, d.runner_up_ids, d.runner_up_deficits,
            d.candidates, d.units, d.rounds, d.weights, d.cores, d.unfits, d.barreds, d.pulls, d.attempts, d.depths, d.skips, d.floors)
        WITH ORDINALITY AS u (ms_ago, lane, seq, job_id, share_id, deficit, runner_up_id, runner_up_deficit,
            candidates, units, round, weight, cores, unfit, barred, pull, attempt, depth, skip, floor, nth)
    WINDOW so_far AS (ORDER BY u.nth)
) r
LEFT JOIN ledger l ON l.daemon_id = d.daemon_id AND l.lane = r.lane AND l.seq = r.seq
LEFT JOIN shares s ON s.id = r.share_id
LEFT JOIN shares n ON n.id = r.runner_up_id
WHERE d.written_at >= @claimed_at::timestamptz AND d.written_at < @claimed_at::timestamptz + interval '1 minute'
    AND @job::bigint = ANY (d.job_ids) AND r.job_id = @job::bigint
    AND coalesce(r.attempt, d.attempts[1], @attempt::int) = @attempt::int
    AND (l.at IS NULL OR l.at = @claimed_at::timestamptz)
ORDER BY d.written_at
LIMIT 1;
