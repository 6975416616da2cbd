-- Up to when node_usage is made of history: one row, apart from folded, so that steps do not wait for it.
CREATE TABLE rolled (
    only_row boolean     PRIMARY KEY DEFAULT true CHECK (only_row),
    at       timestamptz NOT NULL -- attempts that ended before are counted
) WITH (fillfactor = 10);
