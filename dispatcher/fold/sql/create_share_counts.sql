-- Ready and held jobs by share, shape and queue.
CREATE TABLE share_counts (
    share      int    NOT NULL,
    shape      int    NOT NULL,
    queue      int    NOT NULL, -- 0: of ready jobs
    ready      bigint NOT NULL,
    held       bigint NOT NULL,
    held_units bigint NOT NULL, -- thousandths
    PRIMARY KEY (share, shape, queue)
) WITH (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
