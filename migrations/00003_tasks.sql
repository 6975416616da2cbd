-- Tasks and their inputs. One writer: generator.

-- +goose Up
CREATE TABLE tasks (
    id              bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name            text        NOT NULL CHECK (name <> ''),
    user_name       text        NOT NULL CHECK (user_name <> ''),
    state           text        NOT NULL DEFAULT 'submitting' CHECK (state IN ('submitting', 'waiting', 'ready', 'scouting', 'running',
        'paused', 'throttled', 'exhausted', 'finishing', 'done', 'finished', 'failed', 'aborting', 'aborted')),
    resume_state    text        CHECK (resume_state IS NULL OR state = 'paused'),
    sweep           boolean     NOT NULL DEFAULT false,
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
    split           text        NOT NULL DEFAULT 'count' CHECK (split IN ('count', 'inputs', 'events', 'matrix')),
    per_job         bigint      NOT NULL DEFAULT 1 CHECK (per_job >= 1),
    n_events        bigint      NOT NULL DEFAULT 0,
    n_inputs        bigint      NOT NULL DEFAULT 0,
    n_pieces        bigint      NOT NULL DEFAULT 0,
    n_split         bigint      NOT NULL DEFAULT 0 CHECK (n_split <= n_generated),
    n_jobs          bigint      NOT NULL DEFAULT 0,
    n_generated     bigint      NOT NULL DEFAULT 0 CHECK (n_generated <= n_jobs),
    retry_after     bigint      NOT NULL DEFAULT 0,
    n_waiting       bigint      NOT NULL DEFAULT 0,
    n_ready         bigint      NOT NULL DEFAULT 0,
    n_leased        bigint      NOT NULL DEFAULT 0,
    n_finished      bigint      NOT NULL DEFAULT 0,
    n_failed        bigint      NOT NULL DEFAULT 0,
    n_cancelled     bigint      NOT NULL DEFAULT 0,
    idempotency_key text,
    body_hash       bytea,
    created_at      timestamptz NOT NULL DEFAULT now(),
    committed_at    timestamptz,
    started_at      timestamptz,
    ended_at        timestamptz,
    CHECK ((ended_at IS NOT NULL) = (state IN ('done', 'finished', 'failed', 'aborted'))),
    CHECK (share_id IS NOT NULL OR state IN ('submitting', 'waiting', 'aborted'))
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);
COMMENT ON COLUMN tasks.share_id IS 'The share that the jobs go to: what generation and demand read.';
COMMENT ON COLUMN tasks.own_share_id IS 'The share that the task asked for, where a rule on a job attribute sends its jobs to another; else NULL.';
COMMENT ON COLUMN tasks.n_pieces IS 'Pieces of the work. n_jobs = pieces + jobs that try a piece again; n_generated of them are made, n_split of these for a piece''s first time.';
COMMENT ON COLUMN tasks.retry_after IS 'Failed and cancelled jobs up to this id have been tried again.';
COMMENT ON COLUMN tasks.sweep IS 'A verb was said whose bounded batches may not be through: Generator.Sweep carries it on.';
CREATE UNIQUE INDEX tasks_idempotency ON tasks (idempotency_key) WHERE idempotency_key IS NOT NULL;
-- What a generator looks for: tasks of a share with pieces left, best priority first.
CREATE INDEX tasks_pieces_left ON tasks (share_id, priority DESC, id)
    WHERE n_generated < n_jobs AND state IN ('ready', 'scouting', 'running');
-- Tasks that are not over.
CREATE INDEX tasks_live ON tasks (id) WHERE ended_at IS NULL;
-- Tasks that a verb is not through with, and those that no rule has matched yet.
CREATE INDEX tasks_sweep ON tasks (id) WHERE sweep;
CREATE INDEX tasks_waiting ON tasks (id) WHERE state = 'waiting';
CREATE INDEX tasks_user ON tasks (user_name, id);

-- Inputs in runs: names[1] is the input at position. A row an input would cost ten times as much to store and to
-- read. Written under the task's row lock, without gaps; no foreign key, for the same speed.
CREATE TABLE inputs (
    task_id  bigint NOT NULL,
    position bigint NOT NULL CHECK (position >= 0),
    names    text[] NOT NULL CHECK (cardinality(names) BETWEEN 1 AND 1000),
    PRIMARY KEY (task_id, position)
);

-- The fence of generation: whoever generates for a share raises its epoch in the same transaction.
CREATE TABLE generations (
    share_id int         PRIMARY KEY REFERENCES shares (id),
    epoch    bigint      NOT NULL DEFAULT 0,
    at       timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 50);

-- How far the ledger is counted in tasks.n_*.
CREATE TABLE task_lanes (
    daemon_id bigint NOT NULL,
    lane      int    NOT NULL,
    seq       bigint NOT NULL,
    PRIMARY KEY (daemon_id, lane)
) WITH (fillfactor = 50);

-- +goose Down
DROP TABLE task_lanes, generations, inputs, tasks;
