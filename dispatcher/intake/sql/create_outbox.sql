-- Entries that the log shall have. The leader appends them and deletes the row in one transaction.
CREATE TABLE outbox (
    id      bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    made_at timestamptz NOT NULL DEFAULT now(),
    entries jsonb       NOT NULL,
    refused text        -- why the machine did not take them; NULL: it was not asked yet
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);
