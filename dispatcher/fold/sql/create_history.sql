-- The attempts that ended; the last one of a job has its final state. No column is NULL: that would cost 8 bytes a row.
CREATE TABLE history (
    job            bigint      NOT NULL,
    nonce          bigint      NOT NULL,
    task           bigint      NOT NULL,
    units          bigint      NOT NULL, -- thousandths
    granted_at     timestamptz NOT NULL,
    ended_at       timestamptz NOT NULL,
    cpu_ms         bigint      NOT NULL,
    attempt        int         NOT NULL,
    share          int         NOT NULL, -- that paid in the end
    shape          int         NOT NULL,
    queue          int         NOT NULL,
    start_delay_ms int         NOT NULL, -- as of held
    exit_code      int         NOT NULL,
    memory_mb      int         NOT NULL,
    outcome        "char"      NOT NULL, -- of the attempt, as the log has it
    state          "char"      NOT NULL, -- of the job: finished, failed (x), cancelled; ready or waiting: it was tried again, or see over_ranges
    pilot          text        NOT NULL,
    node           text        NOT NULL
) PARTITION BY RANGE (ended_at);
