-- What people's clients upload for their jobs to fetch. Contents are packed already and read in pieces: they lie outside of the row, as
-- they came.

-- +goose Up
CREATE TABLE sandboxes (
    name text PRIMARY KEY CHECK (length(name) BETWEEN 1 AND 200),
    owner text NOT NULL,
    size bigint NOT NULL,
    checksum bigint NOT NULL,
    content bytea NOT NULL,
    stored_at timestamptz NOT NULL DEFAULT now(),
    used_at timestamptz NOT NULL DEFAULT now(),
    CHECK (size = length(content))
);
ALTER TABLE sandboxes ALTER COLUMN content SET STORAGE EXTERNAL;
CREATE INDEX sandboxes_same ON sandboxes (owner, size, checksum);
CREATE INDEX sandboxes_used ON sandboxes (used_at);
COMMENT ON TABLE sandboxes IS 'Files that clients such as prun upload for their jobs to fetch. Bounded in size and number; those that nobody has used for a month go.';
COMMENT ON COLUMN sandboxes.name IS 'The name that clients give it.';
COMMENT ON COLUMN sandboxes.owner IS 'Who uploaded it and may replace it, by the name of the credential; empty where nobody has one.';
COMMENT ON COLUMN sandboxes.size IS 'Bytes of content.';
COMMENT ON COLUMN sandboxes.checksum IS 'CRC-32 that gzip writes at the end of a file: by it and the size clients find what they have uploaded already.';
COMMENT ON COLUMN sandboxes.content IS 'The file.';
COMMENT ON COLUMN sandboxes.stored_at IS 'When it was uploaded.';
COMMENT ON COLUMN sandboxes.used_at IS 'When it was uploaded, found again or fetched, to a day.';
COMMENT ON INDEX sandboxes_same IS 'What an owner has of a size and checksum.';
COMMENT ON INDEX sandboxes_used IS 'The longest unused first.';

-- +goose Down
DROP TABLE sandboxes;
