-- Containers that jobs run in.

-- +goose Up
ALTER TABLE payloads ADD COLUMN image text NOT NULL DEFAULT '';
COMMENT ON COLUMN payloads.image IS 'Template of the image of the container that jobs run in; empty: in none.';
ALTER TABLE shapes ADD COLUMN containers boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN shapes.containers IS 'Jobs with an image: only queues that run containers run them.';

-- +goose Down
ALTER TABLE payloads DROP COLUMN image;
ALTER TABLE shapes DROP COLUMN containers;
