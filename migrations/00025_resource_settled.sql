-- What a report from outside has seen of our own use: the same for every daemon, whenever it reads the report.

-- +goose Up
ALTER TABLE resource_external ADD COLUMN settled bigint NOT NULL DEFAULT 0 CHECK (settled >= 0);
COMMENT ON COLUMN resource_external.settled IS 'Units that had been held for longer than settle when it was reported: so many of used are ours.';

-- +goose Down
ALTER TABLE resource_external DROP COLUMN settled;
