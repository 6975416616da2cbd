-- Where jobs run and write on the machine of their pilot.

-- +goose Up
ALTER TABLE payloads
    ADD COLUMN dir    text NOT NULL DEFAULT '',
    ADD COLUMN stdout text NOT NULL DEFAULT '',
    ADD COLUMN stderr text NOT NULL DEFAULT '';
COMMENT ON COLUMN payloads.dir IS 'Template of the folder that jobs run in; empty: one of their own.';
COMMENT ON COLUMN payloads.stdout IS 'Template of the file for the output of a job; empty: the pilot''s.';
COMMENT ON COLUMN payloads.stderr IS 'The same for errors.';

-- +goose Down
ALTER TABLE payloads DROP COLUMN dir, DROP COLUMN stdout, DROP COLUMN stderr;
