-- The label of a task is part of its jobs' shape: a pull may ask for jobs of some labels only, and is served from memory.
-- Tasks that are older than this have shapes without a label.

-- +goose Up
ALTER TABLE shapes ADD COLUMN label text NOT NULL DEFAULT '';
COMMENT ON COLUMN shapes.label IS 'Label of the task; empty = none.';

-- +goose Down
ALTER TABLE shapes DROP COLUMN label;
