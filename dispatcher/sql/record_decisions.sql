-- One row of decision records. Their times are given as milliseconds before now, so that the clock is the database's.
INSERT INTO decisions (daemon_id, ms_ago, lanes, seqs, job_ids, queue_ids, share_ids, deficits, runner_up_ids,
    runner_up_deficits, candidates, units, rounds, weights, version, turn, turns, kinds, shapes, cores, mosts, unfits, barreds,
    pull, pulls, attempts, level_deficits, depths, skipped_ids, skipped_words, skips, floors)
VALUES (@daemon::bigint, @ms_ago::int[], @lanes::smallint[], @seqs::bigint[], @jobs::bigint[], @queues::int[], @shares::int[],
    @deficits::real[], @runners_up::int[], @runner_up_deficits::real[], @candidates::int[], @units::bigint[],
    @rounds::bigint[], @weights::int[], @version::bigint, @turn::bigint, @turns::int[], @kinds::int[], @shapes::int[],
    @cores::int[], @mosts::int[], @unfits::int[], @barreds::int[],
    @pull::bigint, @pulls::int[], @attempts::int[], @level_deficits::real[], @depths::int[], @skipped_ids::int[], @skipped_words::text,
    @skips::int[], @floors::boolean[]);
