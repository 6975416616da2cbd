-- The steps of the fold that changed counts of tasks, and of which, and what ended, for whoever follows it. Kept for some hours.
CREATE TABLE steps (
    seq      bigint      PRIMARY KEY, -- the last batch of the step
    before   bigint      NOT NULL,    -- the last one of the step before it
    since    timestamptz NOT NULL,    -- of the first batch
    at       timestamptz NOT NULL,    -- of the last
    tasks    bigint[]    NOT NULL,
    jobs     bigint[]    NOT NULL,    -- whose attempts ended, in the order of the log
    attempts int[]       NOT NULL     -- of these
);
