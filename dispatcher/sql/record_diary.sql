-- One row of what a daemon took into account. Times are given as milliseconds before now, as in record_decisions.
INSERT INTO diaries (daemon_id, nth, turn, words, turns, ms_ago, refs, share_ids, shape_ids, queue_ids, amounts)
VALUES (@daemon::bigint, @nth::bigint, @turn::bigint, @words::text, @turns::int[], @ms_ago::int[], @refs::bigint[],
    @shares::int[], @shapes::int[], @queues::int[], @amounts::bigint[]);
