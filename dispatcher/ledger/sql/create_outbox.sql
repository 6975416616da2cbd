-- Entries that the log shall have. Package intake makes this table; here it is for tests of rooms that know nothing of it.
CREATE TABLE IF NOT EXISTS outbox (
    id      bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    made_at timestamptz NOT NULL DEFAULT now(),
    entries jsonb       NOT NULL,
    refused text        -- why they do not follow the log; NULL: it was not asked yet
);
