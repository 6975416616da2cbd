-- Scarce resources beside slots: capacities, use reported from outside, and claims that several jobs hold together. One writer:
-- dispatcher.

-- +goose Up
CREATE TABLE resource_capacities (
    name     text        NOT NULL CHECK (name <> ''),
    key      text        NOT NULL DEFAULT '',
    queue_id int         NOT NULL DEFAULT 0,
    capacity bigint      NOT NULL CHECK (capacity >= 0),
    set_at   timestamptz NOT NULL DEFAULT now(),
    set_by   text        NOT NULL,
    PRIMARY KEY (name, key, queue_id)
);
COMMENT ON TABLE resource_capacities IS 'Capacities that operators set while the site works: they precede those of the file until they are reset. key: of a family, empty = all keys; queue_id 0 = all queues.';
COMMENT ON INDEX resource_capacities_pkey IS 'Set again, it replaces what was set. A few rows.';

CREATE TABLE resource_external (
    name        text        NOT NULL CHECK (name <> ''),
    queue_id    int         NOT NULL DEFAULT 0,
    total       bigint      NOT NULL CHECK (total >= 0),
    used        bigint      NOT NULL CHECK (used >= 0),
    reported_at timestamptz NOT NULL DEFAULT now(),
    settled     bigint      NOT NULL DEFAULT 0 CHECK (settled >= 0),
    PRIMARY KEY (name, queue_id)
);
COMMENT ON TABLE resource_external IS 'The last report of the server of a resource: how many units there are, and how many are used, ours included. name: with its key, as in table:orders; queue_id 0: not per queue.';
COMMENT ON COLUMN resource_external.settled IS 'Units that had been held for longer than settle when it was reported: so many of used are ours.';
COMMENT ON INDEX resource_external_pkey IS 'A report replaces the one before.';

CREATE TABLE claim_keys (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    task_id     bigint NOT NULL,
    key         text   NOT NULL CHECK (key <> ''),
    members     bigint NOT NULL DEFAULT 0,
    made        bigint NOT NULL DEFAULT 0,
    queue_id    int,
    said        bigint,
    max_sharers int    NOT NULL DEFAULT 0,
    node        text   NOT NULL DEFAULT '',
    devices     text[] NOT NULL DEFAULT '{}',
    UNIQUE (task_id, key),
    CHECK (made <= members)
);
COMMENT ON TABLE claim_keys IS 'The ids of claims by name, and how many jobs the log was told of. What becomes of a claim is in the log.';
COMMENT ON COLUMN claim_keys.task_id IS '0: people make it, and queue_id says where it is.';
COMMENT ON COLUMN claim_keys.members IS 'Jobs that the log was told will hold it.';
COMMENT ON COLUMN claim_keys.made IS 'Of these, those that are made or never will be.';
COMMENT ON COLUMN claim_keys.said IS 'The row of outbox that made it there: where it was refused, the claim is not made.';
COMMENT ON COLUMN claim_keys.queue_id IS 'NULL: people have not made it, or have deleted it.';

-- Where a claim is and who holds it follows from grants and ends: this is folded out of the log, like held.
CREATE TABLE claims (
    id         bigint      PRIMARY KEY,
    task       bigint      NOT NULL,
    key        text        NOT NULL,
    state      text        NOT NULL CHECK (state IN ('pending', 'bound', 'draining', 'released')),
    queue      int         NOT NULL,
    node       text        NOT NULL,
    devices    text[]      NOT NULL,
    share      int         NOT NULL,
    sharers    int         NOT NULL,
    jobs       int         NOT NULL,
    missing    boolean     NOT NULL,
    made_at    timestamptz NOT NULL,
    bound_at   timestamptz,
    idle_since timestamptz,
    look_at    timestamptz,
    ended_at   timestamptz,
    sharing_id text        NOT NULL,
    label      text        NOT NULL,
    template   jsonb       NOT NULL,
    saved      jsonb       NOT NULL
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
COMMENT ON TABLE claims IS 'Claims, as of folded: what several jobs hold together while one of them has a lease, such as a node or devices of it. One that ended has the place and the devices that it had before.';
COMMENT ON COLUMN claims.task IS 'Task of the claim. 0: people made it, and say where it is and when it ends.';
COMMENT ON COLUMN claims.key IS 'Which of the claims of the task. Of a claim that people made, its name.';
COMMENT ON COLUMN claims.state IS 'draining: it is not wanted any more; no other job gets to hold it, and it ends with its last holder.';
COMMENT ON COLUMN claims.queue IS 'With node: where it is bound; 0: nowhere.';
COMMENT ON COLUMN claims.devices IS 'Devices of that node that are reserved for it.';
COMMENT ON COLUMN claims.share IS 'Share that its units are charged to, of the job that bound it; 0: none.';
COMMENT ON COLUMN claims.sharers IS 'Leases of its jobs.';
COMMENT ON COLUMN claims.jobs IS 'Jobs that hold it or may yet.';
COMMENT ON COLUMN claims.missing IS 'It waits for a template of the site.';
COMMENT ON COLUMN claims.bound_at IS 'When it was bound where it is; NULL: it is not bound.';
COMMENT ON COLUMN claims.idle_since IS 'Since when it is bound without a sharer.';
COMMENT ON COLUMN claims.look_at IS 'When it is unbound if nobody holds it then.';
COMMENT ON COLUMN claims.ended_at IS 'When nothing was left of it. It is kept for as long as a replay may look back.';
COMMENT ON COLUMN claims.sharing_id IS 'Whom its units are counted for; label: where they are split by label.';
COMMENT ON COLUMN claims.template IS 'What it takes, as the entry has it: Name, Resources, Node, Devices by kind, MaxSharers, Linger in nanoseconds, Gang.';
COMMENT ON COLUMN claims.saved IS 'All of it, as a start reads it.';
COMMENT ON INDEX claims_pkey IS 'Claims of jobs.';
CREATE INDEX claims_due ON claims (look_at) WHERE look_at IS NOT NULL;
COMMENT ON INDEX claims_due IS 'Those whose time may be over with the next tick.';
CREATE INDEX claims_missing ON claims (id) WHERE missing;
COMMENT ON INDEX claims_missing IS 'Those that another version of the site may have a template for.';
CREATE INDEX claims_task ON claims (task, id);
COMMENT ON INDEX claims_task IS 'All claims of a task.';
CREATE INDEX claims_live ON claims (id) WHERE ended_at IS NULL;
COMMENT ON INDEX claims_live IS 'Live claims, page by page: those that are over are as many as the days that they are kept for.';
CREATE INDEX claims_ended ON claims (ended_at) WHERE ended_at IS NOT NULL;
COMMENT ON INDEX claims_ended IS 'Those that are dropped.';

CREATE TABLE claim_parties (
    nth    bigint   PRIMARY KEY,
    task   bigint   NOT NULL,
    jobs   bigint   NOT NULL,
    claims bigint[] NOT NULL
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
COMMENT ON TABLE claim_parties IS 'Jobs of a task that hold the same claims. They go when all of their jobs are over.';
COMMENT ON COLUMN claim_parties.nth IS 'Of the entry that made it, as held.nth: parties count in this order.';
COMMENT ON COLUMN claim_parties.jobs IS 'That are not over.';
COMMENT ON INDEX claim_parties_pkey IS 'The party of a job, by way of claim_jobs.';
CREATE INDEX claim_parties_claims ON claim_parties USING gin (claims) WITH (fastupdate = off);
COMMENT ON INDEX claim_parties_claims IS 'Those that hold a claim.';

CREATE TABLE claim_jobs (
    low   bigint PRIMARY KEY,
    high  bigint NOT NULL CHECK (low <= high),
    party bigint NOT NULL,
    place int    NOT NULL
) WITH (fillfactor = 90);
COMMENT ON TABLE claim_jobs IS 'Which jobs are of which party: ranges of ids, disjoint, those that are over among them.';
COMMENT ON COLUMN claim_jobs.place IS 'In the order in which they joined their party.';
COMMENT ON INDEX claim_jobs_pkey IS 'The range of a job: the last one whose low is not above its id.';
CREATE INDEX claim_jobs_party ON claim_jobs (party);
COMMENT ON INDEX claim_jobs_party IS 'The jobs of a party.';

-- +goose Down
DROP TABLE claim_jobs, claim_parties, claims, claim_keys, resource_external, resource_capacities;
