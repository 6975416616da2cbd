-- Attempts that ended, by the hour of their end.
CREATE TABLE end_counts (
    hour    timestamptz NOT NULL,
    n       bigint      NOT NULL,
    share   int         NOT NULL,
    shape   int         NOT NULL,
    queue   int         NOT NULL,
    outcome "char"      NOT NULL, -- as of history
    state   "char"      NOT NULL, -- as of history
    PRIMARY KEY (hour, share, shape, queue, outcome, state)
) WITH (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
