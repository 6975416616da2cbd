-- Accounting: what every lease cost, from grant to end, by hour and day; waits; what shares were promised and given. One writer:
-- dispatcher. Usage and ends are folded out of the log, exact as of folded.

-- +goose Up
CREATE TABLE hour_usage (
    hour           timestamptz NOT NULL,
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
    queue          int         NOT NULL,
    user_name      text        NOT NULL,
    PRIMARY KEY (hour, share, queue, user_name)
) WITH (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
COMMENT ON TABLE hour_usage IS 'What attempts that ended cost, by the hour in which it was used. They are counted in the hour of their end, their cpu_ms too. Begin and end count to the millisecond.';
COMMENT ON COLUMN hour_usage.slot_ms IS 'Cores times milliseconds.';
COMMENT ON COLUMN hour_usage.unit_ms IS 'Thousandths of units times milliseconds.';
COMMENT ON COLUMN hour_usage.wasted_slot_ms IS 'slot_ms of attempts that failed, were lost or returned.';
COMMENT ON COLUMN hour_usage.user_name IS 'Whose task it was.';
COMMENT ON INDEX hour_usage_pkey IS 'Target of upserts, stretches of time.';

CREATE TABLE day_usage (
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
    share          int         NOT NULL,
    queue          int         NOT NULL,
    user_name      text        NOT NULL,
    PRIMARY KEY (day, share, queue, user_name)
) WITH (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
COMMENT ON TABLE day_usage IS 'hour_usage by the day, kept for longer.';
COMMENT ON COLUMN day_usage.day IS 'Begin of the day, UTC.';
COMMENT ON COLUMN day_usage.slot_ms IS 'Cores times milliseconds.';
COMMENT ON COLUMN day_usage.unit_ms IS 'Thousandths of units times milliseconds.';
COMMENT ON COLUMN day_usage.wasted_slot_ms IS 'slot_ms of attempts that failed, were lost or returned.';
COMMENT ON INDEX day_usage_pkey IS 'Target of upserts.';
-- The views show days as dates: this finds them by it. BRIN: days come one after the other.
CREATE INDEX day_usage_day ON day_usage USING brin (((day AT TIME ZONE 'UTC')::date)) WITH (pages_per_range = 8);
COMMENT ON INDEX day_usage_day IS 'Stretches of days.';

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
COMMENT ON TABLE task_usage IS 'hour_usage by the day and task.';
COMMENT ON COLUMN task_usage.day IS 'Begin of the day, UTC.';
COMMENT ON COLUMN task_usage.slot_ms IS 'Cores times milliseconds.';
COMMENT ON COLUMN task_usage.unit_ms IS 'Thousandths of units times milliseconds.';
COMMENT ON COLUMN task_usage.wasted_slot_ms IS 'slot_ms of attempts that failed, were lost or returned.';
COMMENT ON INDEX task_usage_pkey IS 'Target of upserts.';
-- The views show days as dates: this finds them by it. BRIN: days come one after the other.
CREATE INDEX task_usage_day ON task_usage USING brin (((day AT TIME ZONE 'UTC')::date)) WITH (pages_per_range = 8);
COMMENT ON INDEX task_usage_day IS 'Stretches of days.';
CREATE INDEX task_usage_task ON task_usage (task);
COMMENT ON INDEX task_usage_task IS 'What a task has used. An entry a day and task: updates do not touch it.';

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
COMMENT ON TABLE node_usage IS 'hour_usage by the day of the end and node, all of it in that day. Made of history, up to rolled.';
COMMENT ON COLUMN node_usage.day IS 'Begin of the day, UTC.';
COMMENT ON COLUMN node_usage.slot_ms IS 'Cores times milliseconds.';
COMMENT ON COLUMN node_usage.unit_ms IS 'Thousandths of units times milliseconds.';
COMMENT ON COLUMN node_usage.wasted_slot_ms IS 'slot_ms of attempts that failed, were lost or returned.';
COMMENT ON INDEX node_usage_pkey IS 'Target of upserts.';
-- The views show days as dates: this finds them by it. BRIN: days come one after the other.
CREATE INDEX node_usage_day ON node_usage USING brin (((day AT TIME ZONE 'UTC')::date)) WITH (pages_per_range = 8);
COMMENT ON INDEX node_usage_day IS 'Stretches of days.';

CREATE TABLE rolled (
    only_row boolean     PRIMARY KEY DEFAULT true CHECK (only_row),
    at       timestamptz NOT NULL
) WITH (fillfactor = 10);
COMMENT ON TABLE rolled IS 'Up to when node_usage is made of history: one row, apart from folded, so that the fold does not wait for it.';
COMMENT ON COLUMN rolled.at IS 'Attempts that ended before are counted.';
INSERT INTO rolled (at) VALUES ('epoch');

-- +goose StatementBegin
CREATE FUNCTION divvy_wait_bounds() RETURNS float8[] LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN '{1,2,5,10,20,30,60,120,300,600,1200,1800,3600,7200,14400,28800,43200,86400,172800,604800}'::float8[];
-- +goose StatementEnd
COMMENT ON FUNCTION divvy_wait_bounds IS 'Seconds that bound the buckets of waits.';

CREATE TABLE wait_hours (
    hour         timestamptz NOT NULL,
    share_id     int         NOT NULL,
    queue_id     int         NOT NULL,
    bucket       int         NOT NULL,
    jobs         bigint      NOT NULL,
    wait_seconds numeric     NOT NULL,
    PRIMARY KEY (hour, share_id, queue_id, bucket)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);
COMMENT ON TABLE wait_hours IS 'How long jobs waited from the submission of their task to their first claim, by the hour of that claim; known when the first attempt is over.';
COMMENT ON COLUMN wait_hours.bucket IS 'Number of divvy_wait_bounds that are not above the wait.';
COMMENT ON INDEX wait_hours_pkey IS 'Target of upserts, stretches of time.';

CREATE TABLE user_wait_hours (
    hour         timestamptz NOT NULL,
    user_name    text        NOT NULL,
    bucket       int         NOT NULL,
    jobs         bigint      NOT NULL,
    wait_seconds numeric     NOT NULL,
    PRIMARY KEY (hour, user_name, bucket)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);
COMMENT ON TABLE user_wait_hours IS 'wait_hours by the user of the task.';
COMMENT ON INDEX user_wait_hours_pkey IS 'Target of upserts, stretches of time.';

CREATE TABLE waited (
    only_row boolean     PRIMARY KEY DEFAULT true CHECK (only_row),
    at       timestamptz NOT NULL
) WITH (fillfactor = 10);
COMMENT ON TABLE waited IS 'Up to when waits are made of history: one row.';
COMMENT ON COLUMN waited.at IS 'Attempts that ended before are counted.';
INSERT INTO waited (at) VALUES ('epoch');

CREATE TABLE share_samples (
    at       timestamptz      NOT NULL,
    pool     text             NOT NULL,
    share_id int              NOT NULL,
    target   double precision NOT NULL,
    held     bigint           NOT NULL,
    ready    bigint           NOT NULL,
    deserved real,
    lent     real,
    borrowed real,
    PRIMARY KEY (share_id, pool, at)
) PARTITION BY RANGE (at);
COMMENT ON TABLE share_samples IS 'The standing of each share over time: for plots, and for what was promised against what was given.';
COMMENT ON COLUMN share_samples.target IS 'In units; held is in thousandths of a unit.';
COMMENT ON COLUMN share_samples.deserved IS 'Units that it would have got if every share had wanted everything.';
COMMENT ON COLUMN share_samples.lent IS 'Units that it owned and siblings used; NULL: none.';
COMMENT ON COLUMN share_samples.borrowed IS 'Units that siblings owned and it used; NULL: none.';
COMMENT ON INDEX share_samples_pkey IS 'The newest sample of a share, and its course.';

CREATE TABLE fairness_hours (
    hour            timestamptz      NOT NULL,
    pool            text             NOT NULL,
    share_id        int              NOT NULL,
    seconds         double precision NOT NULL,
    target_seconds  double precision NOT NULL,
    held_seconds    double precision NOT NULL,
    missed_seconds  double precision NOT NULL,
    starved_seconds double precision NOT NULL,
    busy_seconds    double precision NOT NULL,
    PRIMARY KEY (hour, pool, share_id)
);
COMMENT ON TABLE fairness_hours IS 'What every share was promised and given in an hour: integrals over share_samples. A sample counts until the next one, for ten minutes at most, since there may have been no daemon. target, held, missed: in units x seconds.';
COMMENT ON COLUMN fairness_hours.missed_seconds IS 'Of target - held where that was above zero and the share had ready jobs.';
COMMENT ON COLUMN fairness_hours.starved_seconds IS 'Seconds in which it had ready jobs and a target of a unit or more, and held nothing while others of its pool did.';
COMMENT ON COLUMN fairness_hours.busy_seconds IS 'Seconds in which it had ready jobs or held something.';
COMMENT ON INDEX fairness_hours_pkey IS 'Stretches of time.';

CREATE TABLE end_counts (
    hour    timestamptz NOT NULL,
    n       bigint      NOT NULL,
    share   int         NOT NULL,
    shape   int         NOT NULL,
    queue   int         NOT NULL,
    outcome "char"      NOT NULL,
    state   "char"      NOT NULL,
    PRIMARY KEY (hour, share, shape, queue, outcome, state)
) WITH (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
COMMENT ON TABLE end_counts IS 'Attempts that ended, by the hour of their end.';
COMMENT ON COLUMN end_counts.outcome IS 'Of the attempt, as of history.';
COMMENT ON COLUMN end_counts.state IS 'Of the job from then on, as of history.';
COMMENT ON INDEX end_counts_pkey IS 'Target of the fold''s upserts, which are HOT. A row an hour, kind of job, queue and outcome.';

-- The one place that says how an attempt is split: at full hours (UTC), begin and end each cut to milliseconds, as the fold counts. The
-- hour in which it ended counts it (ends), with no time in it when it ended on the hour.
CREATE VIEW attempt_pieces AS
    SELECT a.job, a.attempt, a.task, a.share, a.queue, a.node, s.cores, a.units, a.outcome, a.granted_at, a.ended_at,
        to_timestamp(h.hour * 3600) AS hour, e.ms, e.ends
    FROM public.history a
    JOIN public.shapes s ON s.id = a.shape
    CROSS JOIN LATERAL (
        SELECT floor(extract(epoch FROM a.granted_at) * 1000)::bigint AS begun,
            floor(extract(epoch FROM greatest(a.ended_at, a.granted_at)) * 1000)::bigint AS ended
    ) b
    CROSS JOIN LATERAL (
        SELECT g.hour FROM generate_series(b.begun / 3600000, b.ended / 3600000) AS g (hour)
        WHERE g.hour % 1 = 0 -- always: PostgreSQL expects five hours then, a thousand otherwise
    ) h
    CROSS JOIN LATERAL (
        SELECT least(b.ended, (h.hour + 1) * 3600000) - greatest(b.begun, h.hour * 3600000) AS ms, h.hour = b.ended / 3600000 AS ends
    ) e;
COMMENT ON VIEW attempt_pieces IS 'What ended attempts cost, one row an attempt and hour: cores and units for so many milliseconds.';

-- +goose Down
DROP VIEW attempt_pieces;
DROP TABLE end_counts, fairness_hours, share_samples, waited, user_wait_hours, wait_hours, rolled, node_usage, task_usage, day_usage, hour_usage;
DROP FUNCTION divvy_wait_bounds;
