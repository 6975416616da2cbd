-- What Harvesters say and ask: workers, statistics, commands, target slots. One writer: internal/harvester; of target slots:
-- dispatcher.

-- +goose Up
CREATE TABLE target_slots (
    queue      text        NOT NULL,
    share_id   int         NOT NULL,
    class      text        NOT NULL,
    floor      boolean     NOT NULL,
    slots      int         NOT NULL CHECK (slots >= 0),
    expires_at timestamptz,
    set_at     timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (queue, share_id, class, floor)
);
COMMENT ON TABLE target_slots IS 'How many cores may be held at a queue, or come first there, as those say who feed it with pilots.';
COMMENT ON COLUMN target_slots.queue IS 'Its name: the site may get it later.';
COMMENT ON COLUMN target_slots.share_id IS 'With all below it; 0: all.';
COMMENT ON COLUMN target_slots.class IS 'Of jobs; empty: all.';
COMMENT ON INDEX target_slots_pkey IS 'Said again, it replaces what was said. A few rows a queue.';

CREATE TABLE harvesters (
    id         text        PRIMARY KEY CHECK (id <> ''),
    host       text        NOT NULL DEFAULT '',
    user_name  text        NOT NULL DEFAULT '',
    metadata   jsonb       NOT NULL DEFAULT '{}',
    first_seen timestamptz NOT NULL DEFAULT now(),
    seen_at    timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE harvesters IS 'Every Harvester that has called.';

CREATE TABLE harvester_workers (
    harvester_id  text        NOT NULL,
    worker_id     bigint      NOT NULL,
    queue         text        NOT NULL DEFAULT '',
    status        text        NOT NULL,
    job_type      text        NOT NULL DEFAULT '',
    resource_type text        NOT NULL DEFAULT '',
    fields        jsonb       NOT NULL DEFAULT '{}',
    submitted_at  timestamptz,
    started_at    timestamptz,
    ended_at      timestamptz,
    pilot_status  text        NOT NULL DEFAULT '',
    updated_at    timestamptz NOT NULL DEFAULT now(),
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
COMMENT ON TABLE harvester_commands IS 'Commands that wait for a Harvester, and those that it has fetched.';
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
COMMENT ON TABLE harvester_dialogs IS 'Messages of Harvesters to the people who run the site.';
COMMENT ON INDEX harvester_dialogs_pkey IS 'A message that is sent again replaces the one before.';

CREATE TABLE harvester_metrics (
    harvester_id text        NOT NULL,
    host         text        NOT NULL,
    at           timestamptz NOT NULL,
    metrics      jsonb       NOT NULL,
    PRIMARY KEY (harvester_id, host, at)
);
COMMENT ON TABLE harvester_metrics IS 'State of the host of a Harvester: memory, CPU, disk, life left of its certificates.';
COMMENT ON INDEX harvester_metrics_pkey IS 'The course of a host; figures that are sent twice stand once.';

-- +goose Down
DROP TABLE harvester_metrics, harvester_dialogs, harvester_commands, harvester_worker_stats, harvester_workers, harvesters,
    target_slots;
