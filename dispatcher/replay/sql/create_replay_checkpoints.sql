-- Machines as they were, of which the log is replayed: one an hour.
CREATE TABLE replay_checkpoints (
    seq    bigint      PRIMARY KEY, -- the batch that it is as of
    at     timestamptz NOT NULL,    -- of the batch
    packed bytea       NOT NULL     -- compressed already; divvy alone reads it
);
