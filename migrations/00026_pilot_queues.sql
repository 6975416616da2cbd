-- Every daemon knows at which queues pilots ask the others: what jobs want that could run there counts.

-- +goose Up
ALTER TABLE daemons ADD COLUMN pilot_queues int[] NOT NULL DEFAULT '{}';
COMMENT ON COLUMN daemons.pilot_queues IS 'Queues at which pilots asked it in the last five minutes, as of seen_at.';

-- +goose Down
ALTER TABLE daemons DROP COLUMN pilot_queues;
