-- What people read of attempts that ended, by the day (UTC) of their end: written with the append, dropped with history.
CREATE TABLE attempt_texts (
    job_id   bigint NOT NULL,
    attempt  int    NOT NULL,
    ended_on date   NOT NULL,
    report   jsonb,
    log      text,
    outputs  jsonb,
    metadata jsonb,
    reason   text
) PARTITION BY RANGE (ended_on);
