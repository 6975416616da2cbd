-- Jobs that their task does not want any more since it was scaled down: their pieces are not tried again, and other jobs may have
-- their names.
CREATE TABLE scaled_away (
    task_id bigint NOT NULL,
    low     bigint NOT NULL,
    high    bigint NOT NULL CHECK (low <= high),
    PRIMARY KEY (task_id, low)
);
