-- Who may do what. One writer: internal/access.

-- +goose Up
CREATE TABLE tokens (
    id         bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name       text        NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
    prefix     text        NOT NULL CONSTRAINT tokens_prefix UNIQUE,
    hash       bytea       NOT NULL CONSTRAINT tokens_hash UNIQUE CHECK (length(hash) = 32),
    role       text        NOT NULL CHECK (role IN ('pilot', 'submitter', 'share-owner', 'operator', 'reader', 'admin')),
    user_name  text        CHECK ((user_name IS NOT NULL) = (role = 'submitter')),
    queues     text[]      NOT NULL DEFAULT '{}' CHECK (queues = '{}' OR role = 'pilot'),
    share      text        CHECK ((share IS NOT NULL) = (role = 'share-owner')),
    created_at timestamptz NOT NULL DEFAULT now(),
    created_by text        NOT NULL,
    expires_at timestamptz,
    revoked_at timestamptz,
    revoked_by text        CHECK ((revoked_by IS NULL) = (revoked_at IS NULL)),
    used_at    timestamptz
);
COMMENT ON TABLE tokens IS 'Tokens of the API. Rows stay, so that the audit can name them.';
COMMENT ON COLUMN tokens.prefix IS 'The begin of the token''s text, by which one that was found is known.';
COMMENT ON COLUMN tokens.hash IS 'SHA-256 of the token, which is 256 random bits; the token itself is kept nowhere.';
COMMENT ON COLUMN tokens.queues IS 'Of a pilot: where it may pull; empty = anywhere.';
COMMENT ON COLUMN tokens.share IS 'Of a share owner: path of the node below which it may change weights.';
COMMENT ON COLUMN tokens.used_at IS 'Last use, written once a minute at the most.';
CREATE UNIQUE INDEX tokens_name ON tokens (name) WHERE revoked_at IS NULL;
COMMENT ON INDEX tokens_name IS 'Names differ among those that are not revoked.';

-- +goose Down
DROP TABLE tokens;
