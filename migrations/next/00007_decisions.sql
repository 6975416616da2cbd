-- Decisions: each is an entry of the log (batches in 00004), and any of them is made again from the entries before it. What is kept beside
-- is where to begin. One writer: dispatcher.

-- +goose Up
CREATE TABLE replay_checkpoints (
    seq    bigint      PRIMARY KEY,
    at     timestamptz NOT NULL,
    packed bytea       NOT NULL
);
COMMENT ON TABLE replay_checkpoints IS 'Machines as they were, of which the log is replayed: one an hour.';
COMMENT ON COLUMN replay_checkpoints.seq IS 'The batch that it is as of; at is the time of that.';
COMMENT ON COLUMN replay_checkpoints.packed IS 'Compressed already; divvy alone reads it.';

-- +goose Down
DROP TABLE replay_checkpoints;
