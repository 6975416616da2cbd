-- The live jobs without a lease. Only high is indexed: a range whose low rises has HOT updates.
CREATE TABLE idle_ranges (
    high    bigint NOT NULL,
    low     bigint NOT NULL CHECK (low <= high),
    task    bigint NOT NULL,
    place   bigint NOT NULL,
    share   int    NOT NULL,
    shape   int    NOT NULL,
    attempt int    NOT NULL, -- the next one of each job
    state   "char" NOT NULL CHECK (state IN ('r', 'p', 'w')), -- ready; paused with its task; waiting for a rule
    PRIMARY KEY (high)
) WITH (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
