-- A queue in one table, as a careful SQL queue has it: the claim updates a row of some 350 bytes.
CREATE TABLE floor_jobs (
    id       bigint PRIMARY KEY,
    share    int NOT NULL,
    state    text NOT NULL,
    priority int NOT NULL,
    worker   int NOT NULL,
    at       timestamptz NOT NULL,
    body     text NOT NULL
);
INSERT INTO floor_jobs SELECT i, i % 100, 'ready', 0, 0, now(), repeat('x', 300) FROM generate_series(1, {{rows}}) i;
CREATE INDEX ON floor_jobs (share, priority, id) WHERE state = 'ready';
