-- Up to which attempt of history it is decided what becomes of jobs that wait: one row, which is the lock of whoever decides.
CREATE TABLE judged (
    only_row boolean     PRIMARY KEY DEFAULT true CHECK (only_row),
    at       timestamptz NOT NULL, -- end of the attempt
    job      bigint      NOT NULL
) WITH (fillfactor = 10);
