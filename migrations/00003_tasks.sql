-- Tasks and their inputs. One writer: generator.

-- +goose Up
CREATE TABLE tasks (
    id              bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name            text        NOT NULL CHECK (name <> ''),
    user_name       text        NOT NULL CHECK (user_name <> ''),
    state           text        NOT NULL DEFAULT 'submitting' CHECK (state IN ('submitting', 'waiting', 'ready', 'scouting', 'running',
        'paused', 'throttled', 'exhausted', 'finishing', 'done', 'finished', 'failed', 'aborting', 'aborted')),
    resume_state    text,
    reason          text        NOT NULL DEFAULT '',
    share_id        int         REFERENCES shares (id),
    shape_id        int,
    priority        int         NOT NULL DEFAULT 0,
    max_attempts    int         NOT NULL DEFAULT 3,
    attributes      jsonb       NOT NULL DEFAULT '{}',
    spec            jsonb       NOT NULL,
    tagged_by       jsonb       NOT NULL DEFAULT '{}',
    n_inputs        bigint      NOT NULL DEFAULT 0,
    n_jobs          bigint      NOT NULL DEFAULT 0,
    n_generated     bigint      NOT NULL DEFAULT 0 CHECK (n_generated <= n_jobs),
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
    ended_at        timestamptz
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);
CREATE UNIQUE INDEX tasks_idempotency ON tasks (idempotency_key) WHERE idempotency_key IS NOT NULL;
-- What a generator looks for: tasks of a share with pieces left, best priority first.
CREATE INDEX tasks_pieces_left ON tasks (share_id, priority DESC, id)
    WHERE n_generated < n_jobs AND state IN ('ready', 'scouting', 'running');
-- Tasks that are not over.
CREATE INDEX tasks_live ON tasks (id) WHERE ended_at IS NULL;
CREATE INDEX tasks_user ON tasks (user_name, id);

CREATE TABLE inputs (
    task_id  bigint NOT NULL REFERENCES tasks (id),
    position bigint NOT NULL CHECK (position >= 0),
    name     text   NOT NULL,
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
