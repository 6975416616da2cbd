-- Jobs that hold the same claims, in the order in which the entries made them. They go when all of their jobs are over.
CREATE TABLE claim_parties (
    nth    bigint   PRIMARY KEY, -- of the entry
    task   bigint   NOT NULL,
    jobs   bigint   NOT NULL,    -- that are not over
    claims bigint[] NOT NULL
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
