-- The steps of the fold that changed counts of tasks, and of which, for whoever follows them. Kept for a day.
CREATE TABLE steps (
    seq    bigint      PRIMARY KEY, -- the last batch of the step
    before bigint      NOT NULL,    -- the last one of the step before it
    since  timestamptz NOT NULL,    -- of the first batch
    at     timestamptz NOT NULL,    -- of the last
    tasks  bigint[]    NOT NULL
);
