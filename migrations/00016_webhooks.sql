-- Webhooks: who is told what happens, and what each is still to be told.

-- +goose Up
CREATE TABLE webhooks (
    name text PRIMARY KEY CHECK (name <> '')
);
COMMENT ON TABLE webhooks IS 'Receivers of the site in force. What happens while there is none is not noted.';
COMMENT ON COLUMN webhooks.name IS 'Its name in the site file.';

CREATE TABLE webhook_messages (
    id      bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    webhook text        NOT NULL REFERENCES webhooks (name) ON DELETE CASCADE,
    event   text        NOT NULL,
    subject text        NOT NULL,
    body    text        NOT NULL,
    made_at timestamptz NOT NULL DEFAULT now(),
    tries   int         NOT NULL DEFAULT 0 CHECK (tries >= 0),
    due_at  timestamptz NOT NULL DEFAULT now(),
    over    boolean     NOT NULL DEFAULT false
);
COMMENT ON TABLE webhook_messages IS 'What a receiver is to be told: a row goes when it was, or was given up.';
COMMENT ON COLUMN webhook_messages.id IS 'The same in each attempt: the header webhook-id.';
COMMENT ON COLUMN webhook_messages.webhook IS 'The receiver.';
COMMENT ON COLUMN webhook_messages.event IS 'Such as task.failed.';
COMMENT ON COLUMN webhook_messages.subject IS 'What it is about: the id of a task, the path of a share with its pool, the name of a queue.';
COMMENT ON COLUMN webhook_messages.body IS 'As it is sent.';
COMMENT ON COLUMN webhook_messages.made_at IS 'When it happened.';
COMMENT ON COLUMN webhook_messages.tries IS 'Attempts that have begun.';
COMMENT ON COLUMN webhook_messages.due_at IS 'The next attempt begins then; an attempt sets it first, so that a daemon that dies loses nothing.';
COMMENT ON COLUMN webhook_messages.over IS 'Told or given up, and kept while the share starves, or the queue is broken, so that it is told once.';
CREATE INDEX webhook_messages_due ON webhook_messages (webhook, due_at) WHERE NOT over;
COMMENT ON INDEX webhook_messages_due IS 'What is to be told next.';
CREATE UNIQUE INDEX webhook_messages_lasting ON webhook_messages (webhook, event, subject) WHERE event NOT LIKE 'task.%';
COMMENT ON INDEX webhook_messages_lasting IS 'What lasts is one message.';

CREATE TABLE webhook_tasks (
    task  bigint      NOT NULL,
    state text        NOT NULL,
    at    timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE webhook_tasks IS 'Tasks that have ended, until messages are made of them.';
COMMENT ON COLUMN webhook_tasks.task IS 'The task.';
COMMENT ON COLUMN webhook_tasks.state IS 'How it ended.';
COMMENT ON COLUMN webhook_tasks.at IS 'When that was noted.';

-- +goose StatementBegin
CREATE FUNCTION divvy_task_ended() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'public', 'pg_temp'
    AS $$
BEGIN
    IF EXISTS (SELECT FROM webhooks) THEN
        INSERT INTO webhook_tasks (task, state) VALUES (NEW.id, NEW.state);
    END IF;
    RETURN NULL;
END $$;
-- +goose StatementEnd
COMMENT ON FUNCTION divvy_task_ended IS 'Notes that a task has ended, in the transaction that ends it, where somebody is to be told.';
CREATE TRIGGER task_ended AFTER UPDATE OF ended_at ON tasks FOR EACH ROW
    WHEN (OLD.ended_at IS NULL AND NEW.ended_at IS NOT NULL) EXECUTE FUNCTION divvy_task_ended();

-- +goose Down
DROP TRIGGER task_ended ON tasks;
DROP FUNCTION divvy_task_ended;
DROP TABLE webhook_tasks, webhook_messages, webhooks;
