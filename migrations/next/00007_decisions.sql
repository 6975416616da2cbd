-- Decisions: each is an entry of the log (batches in 00004), and any of them is made again from the entries before it and from the state at
-- the checkpoint before these. One writer: dispatcher/replay.

-- +goose Up
CREATE TABLE replay_checkpoints (
    seq    bigint      PRIMARY KEY, -- the batch that it is as of
    at     timestamptz NOT NULL,    -- of the batch
    packed bytea       NOT NULL     -- compressed already; divvy alone reads it
);

-- +goose Down
DROP TABLE replay_checkpoints;
