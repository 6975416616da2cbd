-- What Harvester says and asks: its workers, their statistics, commands; target slots; and how many jobs ended, by the hour.
-- +goose Up
-- How many cores a share may hold at a queue until it is said otherwise. Written by package dispatcher.
CREATE TABLE target_slots (
    queue      text        NOT NULL CHECK (queue <> ''),
    share_id   int         NOT NULL,
    class      text        NOT NULL,
    slots      int         NOT NULL CHECK (slots >= 0),
    expires_at timestamptz,
    set_at     timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (queue, share_id, class)
);
COMMENT ON TABLE target_slots IS 'Cores that may be held at a queue: by a share (0: by all), by a class of jobs (empty: by all). The queue is named, since it may not be there yet.';
COMMENT ON INDEX target_slots_pkey IS 'Said again, it replaces what was said. A few rows a queue.';

ALTER TABLE limits DROP CONSTRAINT limits_kind_check;
ALTER TABLE limits ADD CONSTRAINT limits_kind_check CHECK (kind IN ('pool', 'queue', 'share', 'target_slots'));

-- How jobs ended, by the hour in which the fold counted them. Written by package dispatcher.
CREATE TABLE end_counters (
    hour     timestamptz NOT NULL,
    share_id int         NOT NULL,
    shape_id int         NOT NULL,
    queue_id int         NOT NULL,
    state    "char"      NOT NULL CHECK (state IN ('f', 'x', 'c')),
    n        bigint      NOT NULL,
    PRIMARY KEY (hour, share_id, shape_id, queue_id, state)
) WITH (fillfactor = 50);
COMMENT ON TABLE end_counters IS 'Jobs that reached a final state (as the ledger writes them), by the hour of the fold that counted them. queue_id 0: they did not run.';
COMMENT ON INDEX end_counters_pkey IS 'Target of the fold''s upserts, which are HOT, and the hours of a window. A row an hour, kind of job and queue.';

-- All of Harvester's is written by package harvester.
CREATE TABLE harvesters (
    id          text        PRIMARY KEY CHECK (id <> ''),
    host        text        NOT NULL DEFAULT '',
    user_name   text        NOT NULL DEFAULT '',
    metadata    jsonb       NOT NULL DEFAULT '{}',
    first_seen  timestamptz NOT NULL DEFAULT now(),
    seen_at     timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE harvesters IS 'Every Harvester that was heard of.';

CREATE TABLE harvester_workers (
    harvester_id    text        NOT NULL,
    worker_id       bigint      NOT NULL,
    queue           text        NOT NULL DEFAULT '',
    status          text        NOT NULL,
    job_type        text        NOT NULL DEFAULT '',
    resource_type   text        NOT NULL DEFAULT '',
    fields          jsonb       NOT NULL DEFAULT '{}',
    submitted_at    timestamptz,
    started_at      timestamptz,
    ended_at        timestamptz,
    pilot_status    text        NOT NULL DEFAULT '',
    updated_at      timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (harvester_id, worker_id)
) WITH (fillfactor = 80);
COMMENT ON TABLE harvester_workers IS 'Workers as their Harvester last described them; fields: what it said beside the columns, under its names.';
COMMENT ON INDEX harvester_workers_pkey IS 'Updates of a worker; the highest id of a Harvester.';
CREATE INDEX harvester_workers_live ON harvester_workers (queue) WHERE status NOT IN ('finished', 'failed', 'cancelled', 'missed');
COMMENT ON INDEX harvester_workers_live IS 'Workers that are counted: those that are not over.';

CREATE TABLE harvester_worker_stats (
    harvester_id  text        NOT NULL,
    queue         text        NOT NULL,
    job_type      text        NOT NULL,
    resource_type text        NOT NULL,
    status        text        NOT NULL,
    n             bigint      NOT NULL,
    updated_at    timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (harvester_id, queue, job_type, resource_type, status)
);
COMMENT ON TABLE harvester_worker_stats IS 'Numbers of workers as a Harvester last counted them.';
COMMENT ON INDEX harvester_worker_stats_pkey IS 'A report replaces all of a Harvester''s at a queue.';

CREATE TABLE harvester_commands (
    id            bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    harvester_id  text        NOT NULL,
    command       text        NOT NULL,
    params        jsonb,
    ack_requested boolean     NOT NULL DEFAULT false,
    status        text        NOT NULL DEFAULT 'new' CHECK (status IN ('new', 'retrieved', 'acknowledged')),
    created_at    timestamptz NOT NULL DEFAULT now(),
    changed_at    timestamptz NOT NULL DEFAULT now()
);
COMMENT ON INDEX harvester_commands_pkey IS 'Acknowledgements name ids.';
CREATE INDEX harvester_commands_new ON harvester_commands (harvester_id, id) WHERE status = 'new';
COMMENT ON INDEX harvester_commands_new IS 'What a Harvester fetches next; nearly always empty.';

CREATE TABLE harvester_dialogs (
    harvester_id text        NOT NULL,
    diag_id      bigint      NOT NULL,
    module       text        NOT NULL DEFAULT '',
    identifier   text        NOT NULL DEFAULT '',
    level        text        NOT NULL DEFAULT '',
    message      text        NOT NULL DEFAULT '',
    said_at      timestamptz NOT NULL,
    PRIMARY KEY (harvester_id, diag_id)
);
COMMENT ON TABLE harvester_dialogs IS 'Messages of Harvesters to whoever runs the site.';
COMMENT ON INDEX harvester_dialogs_pkey IS 'A message that is sent again replaces the one before.';

CREATE TABLE harvester_metrics (
    harvester_id text        NOT NULL,
    host         text        NOT NULL,
    at           timestamptz NOT NULL,
    metrics      jsonb       NOT NULL,
    PRIMARY KEY (harvester_id, host, at)
);
COMMENT ON TABLE harvester_metrics IS 'How a Harvester''s host was: memory, CPU, disk, what its certificates have left.';
COMMENT ON INDEX harvester_metrics_pkey IS 'The course of a host; figures that are sent twice stand once.';

-- +goose Down
DROP TABLE harvester_metrics;
DROP TABLE harvester_dialogs;
DROP TABLE harvester_commands;
DROP TABLE harvester_worker_stats;
DROP TABLE harvester_workers;
DROP TABLE harvesters;
DROP TABLE end_counters;
DELETE FROM escrow WHERE kind = 'target_slots';
DELETE FROM limits WHERE kind = 'target_slots';
ALTER TABLE limits DROP CONSTRAINT limits_kind_check;
ALTER TABLE limits ADD CONSTRAINT limits_kind_check CHECK (kind IN ('pool', 'queue', 'share'));
DROP TABLE target_slots;
