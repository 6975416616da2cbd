-- Site files that take effect later. One writer: internal/site.

-- +goose Up
CREATE TABLE site_later (
    id           bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    effective_at timestamptz NOT NULL,
    stored_at    timestamptz NOT NULL DEFAULT now(),
    stored_by    text        NOT NULL,
    note         text        NOT NULL DEFAULT '',
    file         text        NOT NULL,
    source       text        NOT NULL,
    moves        jsonb       NOT NULL DEFAULT '{}',
    base_version bigint      NOT NULL,
    state        text        NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'applied', 'failed', 'cancelled')),
    version      bigint      REFERENCES site_versions (version),
    error        text        NOT NULL DEFAULT '',
    ended_at     timestamptz,
    ended_by     text        NOT NULL DEFAULT '',
    CHECK ((ended_at IS NULL) = (state = 'waiting')),
    CHECK ((version IS NOT NULL) = (state = 'applied'))
);
COMMENT ON TABLE site_later IS 'Site files with the time from which they are to be in force. Applied in the order of effective_at, then id.';
COMMENT ON COLUMN site_later.base_version IS 'The version in force when the file was stored; 0 = none.';
COMMENT ON COLUMN site_later.version IS 'The version that it became, or that had the same file already.';
COMMENT ON COLUMN site_later.error IS 'Why a failed one could not be applied when it was due. It is not tried again.';
-- What is due next; nearly always a handful of rows.
CREATE INDEX site_later_due ON site_later (effective_at, id) WHERE state = 'waiting';

-- +goose Down
DROP TABLE site_later;
