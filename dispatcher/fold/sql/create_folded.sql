-- Up to which batch the tables are made: one row.
CREATE TABLE folded (
    only_row boolean     PRIMARY KEY DEFAULT true CHECK (only_row),
    seq      bigint      NOT NULL,
    id       uuid        NOT NULL, -- of the batch
    at       timestamptz NOT NULL  -- of the batch
) WITH (fillfactor = 10);
