-- What jobs have in common that were made together: a row for ids that follow each other. Every job of jobs has one.
CREATE TABLE job_blocks (
    low          bigint      NOT NULL,
    high         bigint      NOT NULL CHECK (low <= high),
    task_id      bigint      NOT NULL,
    made_at      timestamptz NOT NULL DEFAULT now(),
    share_id     int         NOT NULL, -- to which they were last moved; what a lease counts for is in the log
    shape_id     int         NOT NULL, -- as of making
    priority     int         NOT NULL, -- as of now
    max_attempts int         NOT NULL CHECK (max_attempts >= 1),
    again        boolean     NOT NULL, -- they try pieces again of jobs that are over
    PRIMARY KEY (low)
) PARTITION BY RANGE (low);
