-- Who changed what. One writer: internal/access, in the transactions of those who make the change.

-- +goose Up
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
COMMENT ON COLUMN audit.token_id IS 'Token of the table tokens; NULL: one of a file, of PanDA''s API, or none was asked for.';
COMMENT ON COLUMN audit.what IS 'The kind of thing, a dot, the verb.';

CREATE VIEW report.audit AS
    SELECT a.id, a.at, a.who, a.role, a.subject, a.what, a.object, a.before, a.after
    FROM public.audit a;
COMMENT ON VIEW report.audit IS 'A change that somebody made.';
COMMENT ON COLUMN report.audit.id IS 'Number; they rise, with gaps.';
COMMENT ON COLUMN report.audit.at IS 'When its transaction began.';
COMMENT ON COLUMN report.audit.who IS 'Name of the token that made it; token file; anybody, where none is asked for; a user of PanDA''s API.';
COMMENT ON COLUMN report.audit.role IS 'Role of the token.';
COMMENT ON COLUMN report.audit.subject IS 'What the token is bound to: a user, queues, a share.';
COMMENT ON COLUMN report.audit.what IS 'The kind of thing, a dot, the verb: task.kill.';
COMMENT ON COLUMN report.audit.object IS 'Id or name of the thing.';
COMMENT ON COLUMN report.audit.before IS 'How it was; empty: there was none.';
COMMENT ON COLUMN report.audit.after IS 'How it is since.';
CREATE OR REPLACE VIEW report.about AS
    SELECT 3 AS version, u.done AS counted_up_to, u.at AS counted_at, u.past IS NULL AS complete, u.rated AS rated_up_to
    FROM public.usage_state u;

-- +goose StatementBegin
DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'divvy_reader') THEN
        GRANT SELECT ON report.audit TO divvy_reader;
    END IF;
END $$;
-- +goose StatementEnd

-- +goose Down
DROP VIEW report.audit;
CREATE OR REPLACE VIEW report.about AS
    SELECT 2 AS version, u.done AS counted_up_to, u.at AS counted_at, u.past IS NULL AS complete, u.rated AS rated_up_to
    FROM public.usage_state u;
DROP TABLE audit;
