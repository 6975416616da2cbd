-- What was said of jobs while they had a lease, a row an entry, which goes with the task's last lease. A lease that was granted by an
-- entry before (held.nth) is charged to share from at on, where running, and its job goes there when it comes back.
CREATE TABLE moves (
    nth        bigint      NOT NULL, -- of the entry
    task       bigint      NOT NULL,
    low        bigint      NOT NULL,
    high       bigint      NOT NULL,
    at         timestamptz NOT NULL,
    place      bigint      NOT NULL,
    from_share int         NOT NULL, -- jobs of it; 0: of any
    share      int         NOT NULL, -- 0: they stay in theirs
    running    boolean     NOT NULL,
    PRIMARY KEY (task, nth)
);
