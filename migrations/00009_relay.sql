-- Daemons reach each other: the one that joined first decides, and the others hand their pulls on to it.

-- +goose Up
ALTER TABLE daemons
    ADD COLUMN address text NOT NULL DEFAULT '',
    ADD COLUMN secret text NOT NULL DEFAULT '';
COMMENT ON COLUMN daemons.address IS 'host:port at which other daemons reach it; empty: nowhere.';
COMMENT ON COLUMN daemons.secret IS 'What other daemons must say there; made anew at every start.';

-- +goose Down
ALTER TABLE daemons DROP COLUMN secret, DROP COLUMN address;
