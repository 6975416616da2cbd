-- Jobs that were over without a lease: killed, or given up by a rule. History has the attempts that they had before.
CREATE TABLE over_ranges (
    low   bigint      NOT NULL,
    high  bigint      NOT NULL CHECK (low <= high),
    task  bigint      NOT NULL,
    nth   bigint      NOT NULL, -- of the entry
    at    timestamptz NOT NULL,
    state "char"      NOT NULL CHECK (state IN ('c', 'x')), -- cancelled, failed
    PRIMARY KEY (high)
);
