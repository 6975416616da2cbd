-- Jobs that wait until their piece has become two. The leader adds them in the transaction that appends the end which said so.
CREATE TABLE splittings (
    job_id   bigint PRIMARY KEY,
    task_id  bigint NOT NULL,
    shape_id int    NOT NULL, -- that it has from now on
    attempt  int    NOT NULL  -- the next one
);
