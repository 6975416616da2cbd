-- What rules of the site or terms of the task said of attempts. One that is not here was tried again as ever, or used up the last attempt.
CREATE TABLE judgements (
    job_id   bigint      NOT NULL,
    attempt  int         NOT NULL,
    noted_at timestamptz NOT NULL DEFAULT now(),
    note     text        NOT NULL,
    PRIMARY KEY (job_id, attempt)
);
