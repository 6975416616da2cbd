-- What is kept so that any decision can be made again: what each daemon took into account, in its order, checkpoints by
-- the minute, and more in the record of a decision. One writer: dispatcher.

-- +goose Up
-- A daemon of the version before leaves the new columns empty: its records can be read, not replayed.
ALTER TABLE decisions
    ADD COLUMN version bigint   NOT NULL DEFAULT 0,
    ADD COLUMN turn    bigint   NOT NULL DEFAULT 0,
    ADD COLUMN turns   int[]    NOT NULL DEFAULT '{}',
    ADD COLUMN kinds   int[]    NOT NULL DEFAULT '{}',
    ADD COLUMN shapes  int[]    NOT NULL DEFAULT '{}',
    ADD COLUMN cores   int[]    NOT NULL DEFAULT '{}',
    ADD COLUMN mosts   int[]    NOT NULL DEFAULT '{}',
    ADD COLUMN unfits  int[]    NOT NULL DEFAULT '{}',
    ADD COLUMN barreds int[]    NOT NULL DEFAULT '{}';
COMMENT ON TABLE decisions IS 'Records of committed claims, ms_ago before written_at. lanes, seqs: the ledger row of the claim''s transaction. runner_up_ids: 0 = nobody else had a job for the slot. deficits in units, rounds (R) and units in thousandths. weights: the record stands for so many claims. version: of the site. turn + turns: which decision of the daemon it was. kinds: of the slot, as diaries has them. cores, mosts: what the slot offered, and how many jobs it still asked for. unfits, barreds: leaves with ready jobs that did not contend, since none fits the slot or a limit keeps them back. From kinds on, an array that is shorter than job_ids holds one value for all.';

-- One row a second and daemon.
CREATE TABLE diaries (
    written_at timestamptz NOT NULL DEFAULT now(),
    daemon_id  bigint      NOT NULL,
    nth        bigint      NOT NULL,
    turn       bigint      NOT NULL,
    words      text        NOT NULL,
    turns      int[]       NOT NULL,
    ms_ago     int[]       NOT NULL,
    refs       bigint[]    NOT NULL,
    share_ids  int[]       NOT NULL,
    shape_ids  int[]       NOT NULL,
    queue_ids  int[]       NOT NULL,
    amounts    bigint[]    NOT NULL
) PARTITION BY RANGE (written_at);
COMMENT ON TABLE diaries IS 'What a daemon took into account beside its own decisions, in its order: a letter of words an entry, after its decision turn + turns. The doc of package dispatcher has the letters. nth: rows of a daemon, without gaps.';
CREATE INDEX diaries_daemon ON diaries (daemon_id, nth);
COMMENT ON INDEX diaries_daemon IS 'A replay reads a daemon''s rows in order. One entry a second.';
CREATE INDEX decisions_daemon ON decisions (daemon_id, written_at, turn);
COMMENT ON INDEX decisions_daemon IS 'A replay reads a daemon''s records in order. One entry a second.';

-- The checkpoint (counters) as it was, with its positions in the ledger.
CREATE TABLE checkpoints (
    at          timestamptz NOT NULL DEFAULT now(),
    daemon_ids  bigint[]    NOT NULL,
    lanes       int[]       NOT NULL,
    seqs        bigint[]    NOT NULL,
    share_ids   int[]       NOT NULL,
    shape_ids   int[]       NOT NULL,
    queue_ids   int[]       NOT NULL,
    readies     bigint[]    NOT NULL,
    helds       bigint[]    NOT NULL,
    held_units  bigint[]    NOT NULL
) PARTITION BY RANGE (at);
COMMENT ON TABLE checkpoints IS 'Ready jobs by share and shape, held jobs and units by share, shape and queue: exact at seqs of the lanes. One a minute; seldomer where they are large.';
CREATE INDEX checkpoints_at ON checkpoints (at);
COMMENT ON INDEX checkpoints_at IS 'A replay looks for the newest before its beginning. One entry a minute.';

CREATE OR REPLACE VIEW report.decisions AS
    SELECT d.written_at - r.ms_ago * interval '1 ms' AS at,
        d.written_at,
        d.daemon_id,
        r.lane,
        r.seq,
        r.job_id,
        q.name AS queue,
        s.path AS share,
        r.deficit AS deficit_units,
        n.path AS runner_up,
        CASE WHEN r.runner_up_id <> 0 THEN r.runner_up_deficit END AS runner_up_deficit_units,
        r.candidates,
        (r.units / 1000.0)::numeric(20, 3) AS units,
        (r.round / 1000.0)::numeric(20, 3) AS round_units,
        r.weight,
        nullif(d.version, 0) AS version,
        nullif(d.turn + r.turn, 0) AS turn,
        coalesce(r.cores, d.cores[1]) AS slot_cores,
        coalesce(r.most, d.mosts[1]) AS slot_jobs,
        coalesce(r.unfit, d.unfits[1]) AS unfit,
        coalesce(r.barred, d.barreds[1]) AS barred
    FROM public.decisions d
    CROSS JOIN LATERAL unnest(d.ms_ago, d.lanes, d.seqs, d.job_ids, d.queue_ids, d.share_ids, d.deficits, d.runner_up_ids,
            d.runner_up_deficits, d.candidates, d.units, d.rounds, d.weights, d.turns, d.cores, d.mosts, d.unfits, d.barreds)
        AS r (ms_ago, lane, seq, job_id, queue_id, share_id, deficit, runner_up_id, runner_up_deficit, candidates, units, round, weight,
            turn, cores, most, unfit, barred)
    LEFT JOIN public.queues q ON q.id = r.queue_id
    LEFT JOIN public.shares s ON s.id = r.share_id
    LEFT JOIN public.shares n ON n.id = r.runner_up_id;
COMMENT ON VIEW report.decisions IS 'Why a job was given to whom, for as long as decisions are kept: one row a recorded claim. Restrict it by written_at: days are stored apart.';
COMMENT ON COLUMN report.decisions.version IS 'Version of the site that was in force at the daemon; NULL for records of older daemons, as in all columns from here on.';
COMMENT ON COLUMN report.decisions.turn IS 'Which decision of its daemon it was, claimed or not.';
COMMENT ON COLUMN report.decisions.slot_cores IS 'Cores that the slot had left to offer.';
COMMENT ON COLUMN report.decisions.slot_jobs IS 'Jobs that the pull asked for and did not have yet.';
COMMENT ON COLUMN report.decisions.unfit IS 'Leaves with ready jobs that were skipped since none of them fits the slot.';
COMMENT ON COLUMN report.decisions.barred IS 'Leaves with jobs for the slot that were skipped since a limit kept them back.';

-- +goose Down
DROP VIEW report.decisions;
CREATE VIEW report.decisions AS
    SELECT d.written_at - r.ms_ago * interval '1 ms' AS at,
        d.written_at,
        d.daemon_id,
        r.lane,
        r.seq,
        r.job_id,
        q.name AS queue,
        s.path AS share,
        r.deficit AS deficit_units,
        n.path AS runner_up,
        CASE WHEN r.runner_up_id <> 0 THEN r.runner_up_deficit END AS runner_up_deficit_units,
        r.candidates,
        (r.units / 1000.0)::numeric(20, 3) AS units,
        (r.round / 1000.0)::numeric(20, 3) AS round_units,
        r.weight
    FROM public.decisions d
    CROSS JOIN LATERAL unnest(d.ms_ago, d.lanes, d.seqs, d.job_ids, d.queue_ids, d.share_ids, d.deficits, d.runner_up_ids,
            d.runner_up_deficits, d.candidates, d.units, d.rounds, d.weights)
        AS r (ms_ago, lane, seq, job_id, queue_id, share_id, deficit, runner_up_id, runner_up_deficit, candidates, units, round, weight)
    LEFT JOIN public.queues q ON q.id = r.queue_id
    LEFT JOIN public.shares s ON s.id = r.share_id
    LEFT JOIN public.shares n ON n.id = r.runner_up_id;
DROP TABLE checkpoints, diaries;
DROP INDEX decisions_daemon;
ALTER TABLE decisions DROP COLUMN version, DROP COLUMN turn, DROP COLUMN turns, DROP COLUMN kinds, DROP COLUMN shapes,
    DROP COLUMN cores, DROP COLUMN mosts, DROP COLUMN unfits, DROP COLUMN barreds;
