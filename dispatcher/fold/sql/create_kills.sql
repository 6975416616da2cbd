-- Orders to end the leases of a task with ids from low to high, a row an entry, which goes with the task's last lease. Of two about
-- the same lease the later one counts; held.reason is of a lease alone.
CREATE TABLE kills (
    nth     bigint  NOT NULL, -- of the entry
    task    bigint  NOT NULL,
    low     bigint  NOT NULL,
    high    bigint  NOT NULL,
    grace_s int     NOT NULL,
    idle    boolean NOT NULL, -- attempts run to their end: their jobs are not tried again
    reason  text    NOT NULL,
    PRIMARY KEY (task, nth)
);
