-- Decisions: each is an entry of the log (batches in 00004), and any of them is made again from the entries before it. One writer:
-- dispatcher.

-- +goose Up
CREATE TABLE replay_checkpoints (
    seq    bigint      PRIMARY KEY,
    at     timestamptz NOT NULL,
    packed bytea       NOT NULL
);
COMMENT ON TABLE replay_checkpoints IS 'Machines as they were, from which the log is replayed: one an hour.';
COMMENT ON COLUMN replay_checkpoints.seq IS 'The batch as of which it is.';
COMMENT ON COLUMN replay_checkpoints.at IS 'When that batch was appended.';
COMMENT ON COLUMN replay_checkpoints.packed IS 'The state, compressed already; divvy alone reads it.';
ALTER TABLE replay_checkpoints ALTER packed SET STORAGE EXTERNAL;

-- +goose Down
DROP TABLE replay_checkpoints;
