-- Jobs that wait for a time; the last attempt of each is judged.
CREATE TABLE retries (
    job_id   bigint      NOT NULL,
    task_id  bigint      NOT NULL,
    due_at   timestamptz NOT NULL, -- when it is ready, or its piece is to be split
    attempt  int         NOT NULL, -- that ended
    shape_id int         NOT NULL, -- that it has from then on
    split    boolean     NOT NULL,
    PRIMARY KEY (job_id)
) WITH (fillfactor = 90);
