-- The record of decisions, and what is kept so that any of them can be made again. One writer: dispatcher.
--
-- No default partitions: only the dispatcher writes here, and makes the day first.

-- +goose Up
CREATE TABLE decisions (
    written_at         timestamptz NOT NULL DEFAULT now(),
    daemon_id          bigint      NOT NULL,
    ms_ago             int[]       NOT NULL,
    lanes              smallint[]  NOT NULL,
    seqs               bigint[]    NOT NULL,
    job_ids            bigint[]    NOT NULL,
    queue_ids          int[]       NOT NULL,
    share_ids          int[]       NOT NULL,
    deficits           real[]      NOT NULL,
    runner_up_ids      int[]       NOT NULL,
    runner_up_deficits real[]      NOT NULL,
    candidates         int[]       NOT NULL,
    units              bigint[]    NOT NULL,
    rounds             bigint[]    NOT NULL,
    weights            int[]       NOT NULL,
    version            bigint      NOT NULL DEFAULT 0,
    turn               bigint      NOT NULL DEFAULT 0,
    turns              int[]       NOT NULL DEFAULT '{}',
    kinds              int[]       NOT NULL DEFAULT '{}',
    shapes             int[]       NOT NULL DEFAULT '{}',
    cores              int[]       NOT NULL DEFAULT '{}',
    mosts              int[]       NOT NULL DEFAULT '{}',
    unfits             int[]       NOT NULL DEFAULT '{}',
    barreds            int[]       NOT NULL DEFAULT '{}',
    pull               bigint      NOT NULL DEFAULT 0,
    pulls              int[]       NOT NULL DEFAULT '{}',
    attempts           int[]       NOT NULL DEFAULT '{}',
    level_deficits     real[]      NOT NULL DEFAULT '{}',
    depths             int[]       NOT NULL DEFAULT '{}',
    skipped_ids        int[]       NOT NULL DEFAULT '{}',
    skipped_words      text        NOT NULL DEFAULT '',
    skips              int[]       NOT NULL DEFAULT '{}',
    floors             boolean[]   NOT NULL DEFAULT '{}'
) PARTITION BY RANGE (written_at);
COMMENT ON TABLE decisions IS 'Records of committed claims, one row a second and daemon, as parallel arrays: a row of its own for each would be four times as large. From kinds on, level_deficits and skipped_ids apart, an array that is shorter than job_ids holds one value for all.';
COMMENT ON COLUMN decisions.ms_ago IS 'Milliseconds before written_at.';
COMMENT ON COLUMN decisions.lanes IS 'With seqs: the ledger row of the transaction of the claim.';
COMMENT ON COLUMN decisions.deficits IS 'In units.';
COMMENT ON COLUMN decisions.runner_up_ids IS 'The share that would have won without the winner; 0: no other had a job for the slot.';
COMMENT ON COLUMN decisions.candidates IS 'Leaves that had a job for this slot which every hard limit admitted.';
COMMENT ON COLUMN decisions.units IS 'Thousandths of a unit that the job is charged.';
COMMENT ON COLUMN decisions.rounds IS 'R that the targets were solved for, in thousandths of a unit.';
COMMENT ON COLUMN decisions.weights IS 'Number of claims that the record stands for.';
COMMENT ON COLUMN decisions.version IS 'Version of the site.';
COMMENT ON COLUMN decisions.turns IS 'turn + turns: number of the decision at the daemon.';
COMMENT ON COLUMN decisions.kinds IS 'Kind of the slot, as diaries has it.';
COMMENT ON COLUMN decisions.shapes IS 'Shape of the job.';
COMMENT ON COLUMN decisions.cores IS 'Cores that the slot offered; mosts: how many jobs it still asked for.';
COMMENT ON COLUMN decisions.unfits IS 'Leaves with ready jobs of which none fits the slot; barreds: those that a limit keeps back.';
COMMENT ON COLUMN decisions.pulls IS 'pull + pulls: number of the pull at the daemon.';
COMMENT ON COLUMN decisions.level_deficits IS 'Deficits along the path of the winner from the top down, depths of them a record.';
COMMENT ON COLUMN decisions.skipped_ids IS 'The first leaves that stood before the winner, skips of them a record.';
COMMENT ON COLUMN decisions.skipped_words IS 'A letter for each of these, why it did not contend: f none of its jobs fits, m a max, p the capacity of the pool, l lending, b borrowing, r resources.';
COMMENT ON COLUMN decisions.floors IS 'The winner came before its turn by a floor of the queue.';
CREATE INDEX decisions_daemon ON decisions (daemon_id, written_at, turn);
COMMENT ON INDEX decisions_daemon IS 'A replay reads a daemon''s records in order. One entry a second.';
CREATE INDEX decisions_written ON decisions (written_at);
COMMENT ON INDEX decisions_written IS 'Records of a stretch of time. An entry a second and daemon.';

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
COMMENT ON TABLE diaries IS 'What a daemon took into account beside its own decisions, in its order: one letter of words for each entry, which comes after its decision turn + turns. The doc of package dispatcher has the letters.';
COMMENT ON COLUMN diaries.nth IS 'Number of the row at its daemon, without gaps.';
CREATE INDEX diaries_daemon ON diaries (daemon_id, nth);
COMMENT ON INDEX diaries_daemon IS 'A replay reads a daemon''s rows in order. One entry a second.';

CREATE TABLE checkpoints (
    at         timestamptz NOT NULL DEFAULT now(),
    daemon_ids bigint[]    NOT NULL,
    lanes      int[]       NOT NULL,
    seqs       bigint[]    NOT NULL,
    share_ids  int[]       NOT NULL,
    shape_ids  int[]       NOT NULL,
    queue_ids  int[]       NOT NULL,
    readies    bigint[]    NOT NULL,
    helds      bigint[]    NOT NULL,
    held_units bigint[]    NOT NULL
) PARTITION BY RANGE (at);
COMMENT ON TABLE checkpoints IS 'Ready jobs by share and shape, held jobs and units by share, shape and queue: exact at seqs of the lanes. One a minute; fewer where they are large.';
CREATE INDEX checkpoints_at ON checkpoints (at);
COMMENT ON INDEX checkpoints_at IS 'A replay looks for the newest before its beginning. One entry a minute.';

-- +goose Down
DROP TABLE checkpoints, diaries, decisions;
