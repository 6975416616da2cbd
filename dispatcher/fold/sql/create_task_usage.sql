-- hour_usage by the day (UTC) and task.
CREATE TABLE task_usage (
    day            timestamptz NOT NULL,
    task           bigint      NOT NULL,
    slot_ms        bigint      NOT NULL,
    unit_ms        bigint      NOT NULL,
    wasted_slot_ms bigint      NOT NULL,
    cpu_ms         bigint      NOT NULL,
    finished       bigint      NOT NULL,
    failed         bigint      NOT NULL,
    lost           bigint      NOT NULL,
    cancelled      bigint      NOT NULL,
    returned       bigint      NOT NULL,
    share          int         NOT NULL,
    PRIMARY KEY (day, task, share)
) WITH (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
