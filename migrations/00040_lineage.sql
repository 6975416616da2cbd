-- What tells releases of divvy apart that run side by side, and a database that was set back from one that went on.

-- +goose Up
ALTER TABLE daemons ADD COLUMN version text NOT NULL DEFAULT '';
COMMENT ON COLUMN daemons.version IS 'Release that it is, or the commit that it was built from; empty: of a release that did not say so.';

CREATE TABLE lineage (
    only_row boolean     PRIMARY KEY DEFAULT true CHECK (only_row),
    place    text        NOT NULL,
    since    timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE lineage IS 'Where this database was when a daemon started last. One writer: package migrations.';
COMMENT ON COLUMN lineage.place IS 'System identifier of the server, its timeline, the database. Another one: it was restored, copied, or failed over.';

-- +goose Down
DROP TABLE lineage;
ALTER TABLE daemons DROP COLUMN version;
