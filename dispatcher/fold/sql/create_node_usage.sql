-- hour_usage by the day (UTC) of the end and node, all of it in that day.
CREATE TABLE node_usage (
    day            timestamptz NOT NULL,
    slot_ms        bigint      NOT NULL,
    unit_ms        bigint      NOT NULL,
    wasted_slot_ms bigint      NOT NULL,
    cpu_ms         bigint      NOT NULL,
    finished       bigint      NOT NULL,
    failed         bigint      NOT NULL,
    lost           bigint      NOT NULL,
    cancelled      bigint      NOT NULL,
    returned       bigint      NOT NULL,
    queue          int         NOT NULL,
    node           text        NOT NULL,
    PRIMARY KEY (day, queue, node)
) WITH (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
