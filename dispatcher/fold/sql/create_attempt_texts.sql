-- What people read of attempts that ended, by the day (UTC) of their end: written with the append, dropped with history.
CREATE TABLE attempt_texts (
    job_id   bigint NOT NULL,
    ended_on date   NOT NULL,
    attempt  int    NOT NULL,
    reason   text,
    log      text,
    report   jsonb,
    outputs  jsonb,
    metadata jsonb,
    PRIMARY KEY (job_id, attempt, ended_on)
) PARTITION BY RANGE (ended_on);
