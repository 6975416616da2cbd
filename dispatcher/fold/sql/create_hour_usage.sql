-- What attempts cost, by the hour in which it was used; they are counted in the hour of their end, their cpu_ms too.
CREATE TABLE hour_usage (
    hour           timestamptz NOT NULL,
    slot_ms        bigint      NOT NULL, -- cores times milliseconds
    unit_ms        bigint      NOT NULL, -- thousandths of units times milliseconds
    wasted_slot_ms bigint      NOT NULL, -- of attempts that failed, were lost or returned
    cpu_ms         bigint      NOT NULL,
    finished       bigint      NOT NULL,
    failed         bigint      NOT NULL,
    lost           bigint      NOT NULL,
    cancelled      bigint      NOT NULL,
    returned       bigint      NOT NULL,
    share          int         NOT NULL,
    queue          int         NOT NULL,
    user_name      text        NOT NULL,
    PRIMARY KEY (hour, share, queue, user_name)
) WITH (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
