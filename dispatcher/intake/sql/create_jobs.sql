-- A row a job, live or over, that nothing changes but a split of its piece: all else is in the log. At most eight columns, so that
-- the bitmap of NULLs costs nothing.
CREATE TABLE jobs (
    id          bigint NOT NULL,
    idx         bigint NOT NULL, -- of the piece of the task
    first_event bigint,          -- of a job that runs events: the first one,
    n_events    bigint,          -- and how many
    retry_of    bigint,          -- the job whose piece it tries again
    inputs      text[],
    claims      bigint[],        -- that it holds while it has a lease
    PRIMARY KEY (id)
) PARTITION BY RANGE (id);
