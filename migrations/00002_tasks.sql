-- Tasks: what users ask for, and how it becomes jobs. One writer: generator.

-- +goose Up

-- The counts of a task are updated every 300 ms while it runs: a pause of the vacuum among some hundred pages gains nothing.
-- At fillfactor 50 every update that touches no index is HOT; at 70 58 % are, at 100 3 %, in twice the time.
CREATE TABLE tasks (
    id              bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name            text        NOT NULL CHECK (name <> ''),
    user_name       text        NOT NULL CHECK (user_name <> ''),
    state           text        NOT NULL DEFAULT 'submitting' CHECK (state IN ('submitting', 'waiting', 'ready', 'scouting', 'running',
        'paused', 'throttled', 'exhausted', 'finishing', 'done', 'finished', 'failed', 'aborting', 'aborted')),
    resume_state    text,
    reason          text        NOT NULL DEFAULT '',
    share_id        int         REFERENCES shares (id),
    own_share_id    int         REFERENCES shares (id),
    shape_id        int,
    priority        int         NOT NULL DEFAULT 0,
    max_attempts    int         NOT NULL DEFAULT 3,
    attributes      jsonb       NOT NULL DEFAULT '{}',
    spec            json        NOT NULL,
    tagged_by       jsonb       NOT NULL DEFAULT '{}',
    site_version    bigint      NOT NULL DEFAULT 0,
    split           text        NOT NULL DEFAULT 'count' CHECK (split IN ('count', 'inputs', 'events', 'matrix', 'groups')),
    per_job         bigint      NOT NULL DEFAULT 1 CHECK (per_job >= 1),
    n_events        bigint      NOT NULL DEFAULT 0,
    n_inputs        bigint      NOT NULL DEFAULT 0,
    n_pieces        bigint      NOT NULL DEFAULT 0,
    n_split         bigint      NOT NULL DEFAULT 0,
    n_jobs          bigint      NOT NULL DEFAULT 0,
    n_generated     bigint      NOT NULL DEFAULT 0,
    retry_after     bigint      NOT NULL DEFAULT 0,
    idempotency_key text,
    body_hash       bytea,
    created_at      timestamptz NOT NULL DEFAULT now(),
    committed_at    timestamptz,
    started_at      timestamptz,
    ended_at        timestamptz,
    parameters      json,
    scaled          jsonb,
    lots            int,
    scouts          int         CHECK (scouts > 0),
    scouted         jsonb,
    n_halves        bigint,
    quota           bigint,
    limited         text,
    chain           text        CHECK (chain IN ('open', 'broken')),
    n_released      bigint,
    CHECK (n_split <= n_generated),
    CHECK (n_generated <= n_jobs),
    CHECK ((ended_at IS NOT NULL) = (state IN ('done', 'finished', 'failed', 'aborted'))),
    CHECK (share_id IS NOT NULL OR state IN ('submitting', 'waiting', 'aborted')),
    CONSTRAINT tasks_resume_state CHECK (resume_state IS NULL OR state IN ('paused', 'throttled'))
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
COMMENT ON TABLE tasks IS 'What users ask for, with the counts of its jobs. Ended tasks stay.';
COMMENT ON COLUMN tasks.resume_state IS 'The state to which a paused or throttled task returns.';
COMMENT ON COLUMN tasks.share_id IS 'The share that the jobs go to: what generation and demand read.';
COMMENT ON COLUMN tasks.own_share_id IS 'The share that the task asked for, where a rule on a job attribute sends its jobs to another; else NULL.';
COMMENT ON COLUMN tasks.shape_id IS 'Shape of its jobs; NULL: not known yet.';
COMMENT ON COLUMN tasks.tagged_by IS 'How the share was chosen, by which rule of site_version.';
COMMENT ON COLUMN tasks.split IS 'What a piece is made of.';
COMMENT ON COLUMN tasks.per_job IS 'Inputs or events of a piece.';
COMMENT ON COLUMN tasks.n_pieces IS 'Pieces of the work. n_jobs = pieces + jobs that try a piece again; n_generated of these are made, n_split of them for the first time of a piece.';
COMMENT ON COLUMN tasks.retry_after IS 'Failed and cancelled jobs up to this id have been tried again.';
COMMENT ON COLUMN tasks.idempotency_key IS 'Key of the submission: a repeat finds its task. body_hash tells whether it is the same task.';
COMMENT ON COLUMN tasks.parameters IS 'What the task was submitted as where that was not a Spec: all of PanDA''s task parameters. NULL: it was a Spec.';
COMMENT ON COLUMN tasks.scaled IS 'Numbers of a task of groups that differ from those it was submitted with; its pieces to come are inputs by name. NULL: it was never scaled.';
COMMENT ON COLUMN tasks.lots IS 'Number of lots that its pieces are cut from. NULL: piece i is the i-th run of per_job inputs or events.';
COMMENT ON COLUMN tasks.scouts IS 'Number of pieces that are made first, and measured; NULL: none. Until scouted is set n_jobs is no more than this.';
COMMENT ON COLUMN tasks.scouted IS 'What the scouts measured, and what the task was resized to; NULL: not over, or there were none.';
COMMENT ON COLUMN tasks.n_halves IS 'Of its pieces, how many are second halves of others; NULL: none. n_pieces, n_split and n_released have them.';
COMMENT ON COLUMN tasks.quota IS 'Limits of the site let n_generated rise to this; NULL: no limit concerns the task.';
COMMENT ON COLUMN tasks.limited IS 'The limit that keeps the task from making more jobs, or any; NULL: none.';
COMMENT ON COLUMN tasks.chain IS 'Of tasks whose pieces follow those of others. open: more may come; broken: not all came, so that it cannot be done. NULL: neither.';
COMMENT ON COLUMN tasks.n_released IS 'Of tasks whose pieces wait for those of others: how many may be jobs; released_pieces has which. NULL: all may.';
COMMENT ON INDEX tasks_pkey IS 'By id.';
CREATE INDEX tasks_created ON tasks USING brin (created_at) WITH (pages_per_range = 32, autosummarize = on);
COMMENT ON INDEX tasks_created IS 'Tasks of a stretch of time: rules rehearsed on the past. BRIN: 136 kB for 600,000 tasks of 60 days; of seven of them it reads 12 % of the pages.';
CREATE UNIQUE INDEX tasks_idempotency ON tasks (idempotency_key) WHERE idempotency_key IS NOT NULL;
COMMENT ON INDEX tasks_idempotency IS 'A submission that is repeated finds its task. Tasks without a key are not in it.';
CREATE INDEX tasks_live ON tasks (id) WHERE ended_at IS NULL;
COMMENT ON INDEX tasks_live IS 'Tasks that are not over: generator and lists pass over all the others.';
CREATE INDEX tasks_lots ON tasks (id) WHERE lots IS NOT NULL AND ended_at IS NULL;
COMMENT ON INDEX tasks_lots IS 'Live tasks whose pieces are cut from lots: readings of what shares have go by it.';
CREATE INDEX tasks_over ON tasks (id) WHERE ended_at IS NOT NULL;
COMMENT ON INDEX tasks_over IS 'The newest tasks that are over, however many newer ones are not. One entry when a task ends, 22 MB a million.';
CREATE INDEX tasks_pieces_left ON tasks (share_id, priority DESC, id) WHERE n_generated < n_jobs AND state IN ('ready', 'scouting', 'running');
COMMENT ON INDEX tasks_pieces_left IS 'What a generator takes next: tasks of a share with pieces left, best priority first. n_generated is in its predicate, so an update by generation is not HOT: 4.6 times the CPU, 3.5 times the WAL, once a task and batch.';
CREATE INDEX tasks_quota ON tasks (id) WHERE quota IS NOT NULL AND ended_at IS NULL;
COMMENT ON INDEX tasks_quota IS 'Live tasks that a limit concerns, or did: most sites have no limits, and then it is empty.';
CREATE INDEX tasks_scouting ON tasks (id) WHERE scouts IS NOT NULL AND scouted IS NULL AND ended_at IS NULL;
COMMENT ON INDEX tasks_scouting IS 'Tasks whose scouts are looked at, twice a second; nearly always few.';
CREATE INDEX tasks_untagged ON tasks (id) WHERE state = 'waiting' AND share_id IS NULL;
COMMENT ON INDEX tasks_untagged IS 'Tasks that wait for a rule, apart from those that wait for tasks; nearly always empty.';
CREATE INDEX tasks_user ON tasks (user_name, id);
COMMENT ON INDEX tasks_user IS 'Lists of a user''s tasks.';
CREATE INDEX tasks_user_live ON tasks (user_name, id) WHERE ended_at IS NULL;
COMMENT ON INDEX tasks_user_live IS 'A user''s tasks that are not over, however many are.';
CREATE INDEX tasks_user_over ON tasks (user_name, id) WHERE ended_at IS NOT NULL;
COMMENT ON INDEX tasks_user_over IS 'The newest of a user''s tasks that are over, however many newer ones are not. One entry when a task ends.';
CREATE INDEX tasks_waiting ON tasks (id) WHERE state = 'waiting';
COMMENT ON INDEX tasks_waiting IS 'Tasks that no rule has matched yet: looked at when the site changes.';

-- A row for each input would cost ten times as much to store and to read. Written under the row lock of the task, without
-- gaps; without a foreign key, for the same speed.
CREATE TABLE inputs (
    task_id  bigint   NOT NULL,
    position bigint   NOT NULL CHECK ("position" >= 0),
    names    text[]   NOT NULL CHECK (cardinality(names) BETWEEN 1 AND 1000),
    sizes    bigint[],
    events   bigint[],
    PRIMARY KEY (task_id, position),
    CHECK (cardinality(sizes) = cardinality(names)),
    CHECK (cardinality(events) = cardinality(names))
);
COMMENT ON TABLE inputs IS 'Inputs of tasks in runs: names[1] is the input at position.';
COMMENT ON COLUMN inputs.position IS 'Position of the first input of the run. Those of lot n begin at 2^32 x n.';
COMMENT ON COLUMN inputs.sizes IS 'Bytes of each input, 0 where they are not known; NULL: of none.';
COMMENT ON COLUMN inputs.events IS 'Events of each input, 0 where they are not known; NULL: of none.';
COMMENT ON INDEX inputs_pkey IS 'The inputs of a piece. An entry a thousand inputs.';

-- Written under the row lock of the task.
CREATE TABLE lots (
    task_id     bigint NOT NULL,
    lot         int    NOT NULL CHECK (lot >= 0),
    locations   text[] NOT NULL DEFAULT '{}',
    n           bigint NOT NULL,
    bytes       bigint NOT NULL DEFAULT 0,
    events      bigint NOT NULL DEFAULT 0,
    cut         bigint NOT NULL DEFAULT 0,
    cut_bytes   bigint NOT NULL DEFAULT 0,
    cut_events  bigint NOT NULL DEFAULT 0,
    skip        bigint NOT NULL DEFAULT 0,
    pieces_left bigint NOT NULL DEFAULT 0,
    shape_ids   int[]  NOT NULL DEFAULT '{}',
    PRIMARY KEY (task_id, lot),
    CHECK (cut <= n),
    CHECK ((pieces_left > 0) = (cut < n) OR shape_ids = '{}')
) WITH (fillfactor = 50);
COMMENT ON TABLE lots IS 'Parts of a task whose pieces are cut alike: all of its events, or the inputs in the same locations.';
COMMENT ON COLUMN lots.n IS 'Inputs of the lot; of a task without inputs its events.';
COMMENT ON COLUMN lots.bytes IS 'Sum of the sizes of its inputs.';
COMMENT ON COLUMN lots.events IS 'Events of all inputs, one for each input that does not say.';
COMMENT ON COLUMN lots.cut IS 'The cursor: so many inputs, or events, are in pieces that are jobs. cut_bytes and cut_events likewise.';
COMMENT ON COLUMN lots.skip IS 'Events of the next input that are in pieces already.';
COMMENT ON COLUMN lots.pieces_left IS 'Number of pieces that the rest makes: an estimate, at least 1 while there is a rest.';
COMMENT ON COLUMN lots.shape_ids IS 'Shapes of full pieces, the largest first; empty before the commit.';

-- Written under the row lock of the task.
CREATE TABLE halves (
    task_id bigint  NOT NULL,
    idx     bigint  NOT NULL CHECK (idx >= 1000000000000),
    piece   bigint  NOT NULL CHECK (piece BETWEEN 0 AND 999999999999),
    again   boolean NOT NULL,
    job_id  bigint  NOT NULL,
    PRIMARY KEY (task_id, idx)
);
COMMENT ON TABLE halves IS 'Second halves of pieces that were split because their jobs failed.';
COMMENT ON COLUMN halves.idx IS 'Index of the half; indexes of pieces as they were cut are smaller.';
COMMENT ON COLUMN halves.piece IS 'Index of the piece that it is a part of, as that was cut.';
COMMENT ON COLUMN halves.again IS 'The piece had ended once, and was tried again, before it was split.';
COMMENT ON COLUMN halves.job_id IS 'The job that has the first half.';
CREATE INDEX halves_piece ON halves (task_id, piece);
COMMENT ON INDEX halves_piece IS 'Tasks whose pieces wait for this one ask whether all of it is over.';

-- Chains: tasks that need others, as a whole or piece by piece.
CREATE TABLE task_needs (
    task_id   bigint  NOT NULL,
    place     int     NOT NULL CHECK (place >= 0),
    needs_id  bigint  NOT NULL,
    condition text    NOT NULL CHECK (condition IN ('done', 'finished', 'any')),
    per_input boolean NOT NULL,
    outputs   text,
    state     text    NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'met', 'broken', 'left')),
    seen      bigint  NOT NULL DEFAULT 0,
    low       bigint  NOT NULL DEFAULT 0,
    after     bigint  NOT NULL DEFAULT 0,
    low_next  bigint,
    was_over  boolean NOT NULL DEFAULT false,
    n_taken   bigint  NOT NULL DEFAULT 0,
    PRIMARY KEY (task_id, place),
    UNIQUE (task_id, needs_id),
    CHECK (needs_id < task_id)
) WITH (fillfactor = 50);
COMMENT ON TABLE task_needs IS 'Tasks that a task needs, and how much of what they made has been noted. Written under the row lock of the task that needs.';
COMMENT ON COLUMN task_needs.place IS 'Order among the needs of the task.';
COMMENT ON COLUMN task_needs.needs_id IS 'The needed task. It is older, so that there are no circles.';
COMMENT ON COLUMN task_needs.per_input IS 'Each piece waits for those of the needed task that it follows, not for all of it.';
COMMENT ON COLUMN task_needs.outputs IS 'Glob: outputs of its jobs with such names become inputs. NULL: none do.';
COMMENT ON COLUMN task_needs.state IS 'met, broken: the needed task is over, as demanded or not; left: the task that needs was over first.';
COMMENT ON COLUMN task_needs.seen IS 'How many jobs of the needed task had ended when the last round began.';
COMMENT ON COLUMN task_needs.low IS 'All jobs up to this id have ended and are noted: a round begins behind it.';
COMMENT ON COLUMN task_needs.after IS 'How far the round came. low_next becomes low after it (NULL: no round is under way); was_over: the needed task was over when the round began.';
CREATE INDEX task_needs_needed ON task_needs (needs_id, task_id);
CREATE INDEX task_needs_open ON task_needs (task_id, place) WHERE state = 'open';

CREATE TABLE need_pieces (
    task_id bigint NOT NULL,
    place   int    NOT NULL,
    chunk   bigint NOT NULL CHECK (chunk >= 0),
    bits    bytea  NOT NULL CHECK (length(bits) = 1024),
    PRIMARY KEY (task_id, place, chunk)
) WITH (fillfactor = 50);
COMMENT ON TABLE need_pieces IS 'Pieces of a needed task that have been noted: a bit for each index, 8192 in a row.';

CREATE TABLE released_pieces (
    task_id  bigint   NOT NULL,
    position bigint   NOT NULL CHECK ("position" >= 0),
    pieces   bigint[] NOT NULL CHECK (cardinality(pieces) BETWEEN 1 AND 1000),
    PRIMARY KEY (task_id, position)
);
COMMENT ON TABLE released_pieces IS 'Pieces that may become jobs, in the order in which they may; pieces[1] is the one at position.';

CREATE TABLE task_deadlines (
    task_id   bigint           PRIMARY KEY,
    deadline  timestamptz      NOT NULL,
    boost     int              NOT NULL DEFAULT 0 CHECK (boost >= 0),
    boosted   int              NOT NULL DEFAULT 0,
    late_risk text             NOT NULL DEFAULT 'unknown' CHECK (late_risk IN ('unknown', 'low', 'high', 'late', 'met', 'missed')),
    over      boolean          NOT NULL DEFAULT false,
    seen_at   timestamptz,
    n_ended   bigint           NOT NULL DEFAULT 0,
    per_s     double precision,
    eta       timestamptz,
    CHECK (boosted BETWEEN 0 AND boost)
) WITH (fillfactor = 50);
COMMENT ON TABLE task_deadlines IS 'Tasks that have a deadline. Forecast looks at those that are not over, every half minute.';
COMMENT ON COLUMN task_deadlines.boost IS 'Priority that the task gains once it is likely to be late.';
COMMENT ON COLUMN task_deadlines.boosted IS 'Priority that it has gained so: all of boost, once, or nothing.';
COMMENT ON COLUMN task_deadlines.over IS 'The task is over: it is not looked at any more.';
COMMENT ON COLUMN task_deadlines.per_s IS 'Jobs of the task that end a second, as of seen_at: a mean that forgets within an hour.';
COMMENT ON COLUMN task_deadlines.eta IS 'When the task will be over at that rate.';
CREATE INDEX task_deadlines_live ON task_deadlines (coalesce(seen_at, '-infinity')) WHERE NOT over;

CREATE TABLE generations (
    share_id int         PRIMARY KEY REFERENCES shares (id),
    epoch    bigint      NOT NULL DEFAULT 0,
    at       timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 50);
COMMENT ON TABLE generations IS 'The fence of generation: whoever generates for a share raises its epoch in the same transaction.';

CREATE TABLE settled (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    seq      bigint  NOT NULL
) WITH (fillfactor = 10);
COMMENT ON TABLE settled IS 'Up to which batch of the log states of tasks follow from what the fold counted: one row.';
INSERT INTO settled (seq) VALUES (0);

-- +goose Down
DROP TABLE settled, generations, task_deadlines, released_pieces, need_pieces, task_needs, halves, lots, inputs, tasks;
