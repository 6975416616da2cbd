-- Up to when fairness_hours is made of share_samples: one row.
CREATE TABLE rated (
    only_row boolean     PRIMARY KEY DEFAULT true CHECK (only_row),
    at       timestamptz NOT NULL -- hours before it are done; infinitely long ago: none is
) WITH (fillfactor = 10);
