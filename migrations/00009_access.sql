-- Who may do what, who did it, and what clients have uploaded. One writer: internal/access, of audit in the transaction of whoever
-- makes the change; of sandboxes: internal/sandbox.

-- +goose Up
CREATE TABLE tokens (
    id         bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name       text        NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
    prefix     text        NOT NULL CONSTRAINT tokens_prefix UNIQUE,
    hash       bytea       NOT NULL CONSTRAINT tokens_hash UNIQUE CHECK (length(hash) = 32),
    role       text        NOT NULL CHECK (role IN ('pilot', 'submitter', 'share-owner', 'operator', 'reader', 'admin')),
    user_name  text,
    queues     text[]      NOT NULL DEFAULT '{}',
    share      text,
    created_at timestamptz NOT NULL DEFAULT now(),
    created_by text        NOT NULL,
    expires_at timestamptz,
    revoked_at timestamptz,
    revoked_by text,
    used_at    timestamptz,
    CHECK ((user_name IS NOT NULL) = (role = 'submitter')),
    CHECK (queues = '{}' OR role = 'pilot'),
    CHECK ((share IS NOT NULL) = (role = 'share-owner')),
    CHECK ((revoked_by IS NULL) = (revoked_at IS NULL))
);
COMMENT ON TABLE tokens IS 'Tokens of the API. Rows stay, so that the audit can name them.';
COMMENT ON COLUMN tokens.prefix IS 'The begin of the text of the token, by which a token that was found somewhere is recognised.';
COMMENT ON COLUMN tokens.hash IS 'SHA-256 of the token, which is 256 random bits. The token itself is kept nowhere.';
COMMENT ON COLUMN tokens.queues IS 'Of a pilot: where it may pull; empty: anywhere.';
COMMENT ON COLUMN tokens.share IS 'Of a share owner: path of the node below which it may change weights.';
COMMENT ON COLUMN tokens.used_at IS 'Last use, written at most once a minute.';
CREATE UNIQUE INDEX tokens_name ON tokens (name) WHERE revoked_at IS NULL;
COMMENT ON INDEX tokens_name IS 'Names differ among those that are not revoked.';

CREATE TABLE audit (
    id       bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at       timestamptz NOT NULL DEFAULT now(),
    who      text        NOT NULL,
    role     text        NOT NULL,
    subject  text        NOT NULL CHECK (length(subject) <= 100000),
    token_id bigint,
    what     text        NOT NULL,
    object   text        NOT NULL CHECK (length(object) <= 200),
    before   text        NOT NULL CHECK (length(before) <= 2000),
    after    text        NOT NULL CHECK (length(after) <= 2000)
);
COMMENT ON TABLE audit IS 'Changes that callers made, each written in the transaction of the change. Kept for keep_audit.';
COMMENT ON COLUMN audit.who IS 'Name of the credential.';
COMMENT ON COLUMN audit.subject IS 'What the token is bound to: a user, queues, a share.';
COMMENT ON COLUMN audit.token_id IS 'Token of the table tokens; NULL: a token of a file, a user of PanDA''s API, or none was asked for.';
COMMENT ON COLUMN audit.what IS 'The kind of thing, a dot, the verb.';

CREATE TABLE sandboxes (
    name      text        PRIMARY KEY CHECK (length(name) BETWEEN 1 AND 200),
    owner     text        NOT NULL,
    size      bigint      NOT NULL,
    checksum  bigint      NOT NULL,
    content   bytea       NOT NULL,
    stored_at timestamptz NOT NULL DEFAULT now(),
    used_at   timestamptz NOT NULL DEFAULT now(),
    CHECK (size = length(content))
);
COMMENT ON TABLE sandboxes IS 'Files that clients such as prun upload for their jobs to fetch. Bounded in size and number; those that nobody has used for a month are removed.';
COMMENT ON COLUMN sandboxes.name IS 'The name that clients give it.';
COMMENT ON COLUMN sandboxes.owner IS 'Name of the credential that uploaded it and may replace it; empty where nobody has one.';
COMMENT ON COLUMN sandboxes.size IS 'Bytes of content.';
COMMENT ON COLUMN sandboxes.checksum IS 'CRC-32 that gzip writes at the end of a file: by it and the size clients find what they have uploaded already.';
COMMENT ON COLUMN sandboxes.content IS 'The file.';
COMMENT ON COLUMN sandboxes.stored_at IS 'When it was uploaded.';
COMMENT ON COLUMN sandboxes.used_at IS 'When it was last uploaded, found again or fetched, to a day.';
CREATE INDEX sandboxes_same ON sandboxes (owner, size, checksum);
COMMENT ON INDEX sandboxes_same IS 'What an owner has of a size and checksum.';
CREATE INDEX sandboxes_used ON sandboxes (used_at);
COMMENT ON INDEX sandboxes_used IS 'The longest unused first.';

-- Contents are packed already and read in pieces: they lie outside of the row, as they came.
ALTER TABLE sandboxes ALTER COLUMN content SET STORAGE EXTERNAL;

-- +goose Down
DROP TABLE sandboxes, audit, tokens;
