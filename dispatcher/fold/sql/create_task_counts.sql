-- Jobs by task and state. ready, paused and waiting are the lengths of its idle_ranges.
CREATE TABLE task_counts (
    task      bigint      NOT NULL,
    ready     bigint      NOT NULL,
    paused    bigint      NOT NULL,
    held      bigint      NOT NULL,
    waiting   bigint      NOT NULL,
    finished  bigint      NOT NULL,
    failed    bigint      NOT NULL,
    cancelled bigint      NOT NULL,
    begun_at  timestamptz,          -- the first grant
    over_at   timestamptz,          -- the last job that was over
    user_name text        NOT NULL,
    PRIMARY KEY (task)
) WITH (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
