-- The ids of claims by name, and how many jobs the log was told of. What becomes of a claim is in the log.
CREATE TABLE claim_keys (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    task_id     bigint NOT NULL, -- 0: people make it, and queue_id says where it is
    key         text   NOT NULL CHECK (key <> ''),
    members     bigint NOT NULL DEFAULT 0, -- jobs that the log was told will hold it
    made        bigint NOT NULL DEFAULT 0, -- of these, those that are made or never will be
    queue_id    int,             -- NULL: people have not made it, or have deleted it
    said        bigint,          -- the row of outbox that made it there: where it was refused, the claim is not made
    max_sharers int    NOT NULL DEFAULT 0,
    node        text   NOT NULL DEFAULT '',
    devices     text[] NOT NULL DEFAULT '{}',
    UNIQUE (task_id, key),
    CHECK (made <= members)
);
