-- The log: a row a batch. Arrays with one value for more than one entry mean that all have it; NULL: no such entry.
CREATE TABLE batches (
    seq               bigint      PRIMARY KEY CHECK (seq >= 1),
    id                uuid        NOT NULL,
    after             uuid        NOT NULL, -- the id of the batch before; zeros for the first
    at                timestamptz NOT NULL,
    by                bigint      NOT NULL, -- the daemon that wrote it
    kinds             text        NOT NULL, -- a letter an entry, in their order
    granted_jobs      bigint[],
    granted_attempts  int[],
    granted_nonces    bigint[],
    granted_tasks     bigint[],
    granted_shares    int[],
    granted_shapes    int[],
    granted_places    bigint[],
    granted_queues    int[],
    granted_units     bigint[],
    granted_pilots    text[],
    granted_nodes     text[],
    granted_requests  uuid[],               -- zeros: the pull had none
    ended_jobs        bigint[],
    ended_attempts    int[],
    ended_outcomes    text,                 -- a letter an entry
    ended_next        text,                 -- a letter an entry: what becomes of the job
    ended_exit_codes  int[],
    ended_cpu_milli   bigint[],
    ended_memory_mb   bigint[],
    started_jobs      bigint[],
    started_attempts  int[],
    started_ttls      int[],                -- seconds; 0: the default
    rare              jsonb[]               -- the entries of all other kinds
) PARTITION BY RANGE (seq);
