-- Orders to attempts to give their units back. Rows are closed when the lease is seen to be gone, and dropped after a week.
CREATE TABLE reclaims (
    job_id     bigint           NOT NULL,
    attempt    int              NOT NULL,
    nonce      bigint           NOT NULL,
    units      bigint           NOT NULL CHECK (units > 0), -- thousandths
    ordered_at timestamptz      NOT NULL DEFAULT now(),
    closed_at  timestamptz,
    lost       double precision CHECK (lost >= 0), -- units times seconds that a returned attempt had held
    claimer_id int              NOT NULL, -- the share that asked for the units
    victim_id  int              NOT NULL, -- the share that gives them
    plan_id    int              NOT NULL, -- the share whose plan has the reclaim: the claimer or one above. The rate counts by it
    grace_s    int              NOT NULL CHECK (grace_s >= 0),
    pool       text             NOT NULL,
    outcome    text, -- of the attempt; anything but revoked: it ended before the order took effect
    PRIMARY KEY (job_id, attempt),
    CHECK (outcome IS NULL OR closed_at IS NOT NULL)
);
