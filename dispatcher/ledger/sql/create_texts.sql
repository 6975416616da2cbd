-- What people read of attempts that ended. Package fold makes this table; here it is for tests of rooms that know nothing of it.
CREATE TABLE IF NOT EXISTS attempt_texts (
    job_id   bigint NOT NULL,
    attempt  int    NOT NULL,
    ended_on date   NOT NULL,
    report   jsonb,
    log      text,
    outputs  jsonb,
    metadata jsonb,
    reason   text
);
