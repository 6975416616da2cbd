-- Accounting: what every lease cost, from claim to end, by hour and day; waits; what shares were promised and given. One writer:
-- dispatcher.
--
-- Attempts that ended are added to the roll-ups once each, in the order of attempts.nth. A position in that order is safe to count
-- up to once nobody is left who may have taken an earlier number and has not committed: whoever takes one has a lock of the table
-- already (RowExclusiveLock on attempts), until the end of the transaction. So the step notes the number that was taken last, then who
-- has such a lock, and counts up to the former once all of the latter are gone.

-- +goose Up
CREATE TABLE usage_state (
    only_row  boolean     PRIMARY KEY DEFAULT true CHECK (only_row),
    done      bigint      NOT NULL DEFAULT 0,
    upto      bigint      NOT NULL DEFAULT 0,
    holders   text[]      NOT NULL DEFAULT '{}',
    at        timestamptz NOT NULL DEFAULT now(),
    past      timestamptz,
    past_last timestamptz,
    rated     timestamptz,
    CHECK (done <= upto),
    CHECK ((past IS NULL) = (past_last IS NULL))
) WITH (fillfactor = 10);
COMMENT ON TABLE usage_state IS 'Attempts with nth up to done are in the roll-ups. Those up to upto are next, as soon as none of holders (virtual transactions) is still running.';
COMMENT ON COLUMN usage_state.past IS 'Attempts without a number that ended in this hour or later are not counted yet; NULL: all are. past_last is the last hour that has some.';
COMMENT ON COLUMN usage_state.rated IS 'Hours before this one are in fairness_hours; NULL: none is.';
INSERT INTO usage_state DEFAULT VALUES;

CREATE TABLE usage_hours (
    hour                timestamptz NOT NULL,
    share_id            int         NOT NULL,
    queue_id            int         NOT NULL,
    user_name           text        NOT NULL,
    slot_seconds        numeric     NOT NULL,
    unit_seconds        numeric     NOT NULL,
    wasted_slot_seconds numeric     NOT NULL,
    cpu_ms              bigint      NOT NULL,
    finished            bigint      NOT NULL,
    failed              bigint      NOT NULL,
    lost                bigint      NOT NULL,
    cancelled           bigint      NOT NULL,
    revoked             bigint      NOT NULL,
    PRIMARY KEY (hour, share_id, queue_id, user_name)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);
COMMENT ON TABLE usage_hours IS 'What ended attempts cost, by the hour in which it was used, and how many ended in it. Seconds are exact to the microsecond, of units to the thousandth of that. user_name: empty where the task is not known.';
COMMENT ON COLUMN usage_hours.wasted_slot_seconds IS 'Those of attempts that failed, were lost or revoked.';
COMMENT ON COLUMN usage_hours.cpu_ms IS 'CPU time as reported, in the hour in which the attempt ended.';
COMMENT ON INDEX usage_hours_pkey IS 'Target of upserts, stretches of time.';

CREATE TABLE usage_days (
    day                 date    NOT NULL,
    share_id            int     NOT NULL,
    queue_id            int     NOT NULL,
    user_name           text    NOT NULL,
    slot_seconds        numeric NOT NULL,
    unit_seconds        numeric NOT NULL,
    wasted_slot_seconds numeric NOT NULL,
    cpu_ms              bigint  NOT NULL,
    finished            bigint  NOT NULL,
    failed              bigint  NOT NULL,
    lost                bigint  NOT NULL,
    cancelled           bigint  NOT NULL,
    revoked             bigint  NOT NULL,
    PRIMARY KEY (day, share_id, queue_id, user_name)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);
COMMENT ON TABLE usage_days IS 'usage_hours by the day (UTC).';
COMMENT ON INDEX usage_days_pkey IS 'Target of upserts, stretches of time.';

CREATE TABLE usage_tasks (
    day                 date    NOT NULL,
    task_id             bigint  NOT NULL,
    share_id            int     NOT NULL,
    slot_seconds        numeric NOT NULL,
    unit_seconds        numeric NOT NULL,
    wasted_slot_seconds numeric NOT NULL,
    cpu_ms              bigint  NOT NULL,
    finished            bigint  NOT NULL,
    failed              bigint  NOT NULL,
    lost                bigint  NOT NULL,
    cancelled           bigint  NOT NULL,
    revoked             bigint  NOT NULL,
    PRIMARY KEY (day, task_id, share_id)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);
COMMENT ON TABLE usage_tasks IS 'usage_hours by the day (UTC) and task.';
COMMENT ON INDEX usage_tasks_pkey IS 'Target of upserts, stretches of time.';
CREATE INDEX usage_tasks_task ON usage_tasks (task_id);
COMMENT ON INDEX usage_tasks_task IS 'What a task has used.';

CREATE TABLE usage_nodes (
    day                 date    NOT NULL,
    queue_id            int     NOT NULL,
    node                text    NOT NULL,
    slot_seconds        numeric NOT NULL,
    wasted_slot_seconds numeric NOT NULL,
    finished            bigint  NOT NULL,
    failed              bigint  NOT NULL,
    lost                bigint  NOT NULL,
    cancelled           bigint  NOT NULL,
    revoked             bigint  NOT NULL,
    PRIMARY KEY (day, queue_id, node)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);
COMMENT ON TABLE usage_nodes IS 'Attempts by node and the day (UTC) in which they ended, with all that they cost.';
COMMENT ON INDEX usage_nodes_pkey IS 'Target of upserts, stretches of time.';

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
CREATE TABLE share_samples_rest PARTITION OF share_samples DEFAULT;

CREATE TABLE share_memory (
    pool       text             NOT NULL,
    share_id   int              NOT NULL,
    lag        double precision NOT NULL,
    remembered double precision NOT NULL,
    at         timestamptz      NOT NULL,
    PRIMARY KEY (pool, share_id)
) WITH (fillfactor = 50);
COMMENT ON TABLE share_memory IS 'What each share missed, for plans that remember. Written every few seconds, in place.';
COMMENT ON COLUMN share_memory.lag IS 'What the share missed: the integral of target - held, in units times seconds.';
COMMENT ON COLUMN share_memory.remembered IS 'The same, fading with its half_life; 0 without one.';
COMMENT ON COLUMN share_memory.at IS 'Up to when both are counted.';

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

CREATE TABLE end_counters (
    hour     timestamptz NOT NULL,
    share_id int         NOT NULL,
    shape_id int         NOT NULL,
    queue_id int         NOT NULL,
    state    "char"      NOT NULL CHECK (state IN ('f', 'x', 'c')),
    n        bigint      NOT NULL,
    PRIMARY KEY (hour, share_id, shape_id, queue_id, state)
) WITH (fillfactor = 50);
COMMENT ON TABLE end_counters IS 'Jobs that reached a final state (by the letters of the ledger), by the hour of the fold that counted them. queue_id 0: they did not run.';
COMMENT ON INDEX end_counters_pkey IS 'Target of the fold''s upserts, which are HOT, and the hours of a window. A row an hour, kind of job and queue.';

-- The one place that says how an attempt is split: at changes of share, then at full hours (UTC). Whole microseconds, so that sums are
-- exact. The hour in which it ended counts it (ends), with no time in it when it ended on the hour. What pilots report is bounded
-- here too: a figure that no bigint holds, or a name of a node that no index takes, would stop the roll-ups.
CREATE VIEW attempt_pieces AS
    SELECT a.nth, a.job_id, a.attempt, a.nonce, a.task_id, p.share_id, a.queue_id, left(a.node, 200) AS node, a.cores, a.units, a.outcome, a.claimed_at, a.ended_at,
        to_timestamp(h.hour * 3600) AS hour,
        date '1970-01-01' + (h.hour / 24)::int AS day,
        e.us, e.ends,
        a.cores * e.us * 0.000001 AS slot_seconds,
        a.units * (e.us * 0.000000001) AS unit_seconds,
        CASE WHEN a.outcome IN ('failed', 'lost', 'revoked') THEN a.cores * e.us * 0.000001 ELSE 0 END AS wasted_slot_seconds,
        CASE WHEN e.ends THEN (least(greatest(a.cpu_s, 0), 1000000000) * 1000)::bigint ELSE 0 END AS cpu_ms,
        (e.ends AND a.outcome = 'finished')::int AS finished,
        (e.ends AND a.outcome = 'failed')::int AS failed,
        (e.ends AND a.outcome = 'lost')::int AS lost,
        (e.ends AND a.outcome = 'cancelled')::int AS cancelled,
        (e.ends AND a.outcome = 'revoked')::int AS revoked
    FROM public.attempts a
    CROSS JOIN LATERAL (
        SELECT (extract(epoch FROM a.claimed_at) * 1000000)::bigint AS begun,
            (extract(epoch FROM greatest(a.ended_at, a.claimed_at)) * 1000000)::bigint AS ended
    ) b
    CROSS JOIN LATERAL (
        SELECT a.share_id, true AS last, b.ended AS until, least(b.ended, coalesce((
            SELECT (extract(epoch FROM max(m.until)) * 1000000)::bigint FROM public.lease_pieces m
            WHERE m.job_id = a.job_id AND m.attempt = a.attempt AND m.nonce = a.nonce), b.begun)) AS since
        UNION ALL
        SELECT m.share_id, false, least((extract(epoch FROM m.until) * 1000000)::bigint, b.ended),
            least((extract(epoch FROM m.since) * 1000000)::bigint, b.ended)
        FROM public.lease_pieces m
        WHERE m.job_id = a.job_id AND m.attempt = a.attempt AND m.nonce = a.nonce
    ) p
    CROSS JOIN LATERAL (
        SELECT g.hour FROM generate_series(p.since / 3600000000, p.until / 3600000000) AS g (hour)
        WHERE g.hour % 1 = 0 -- always: PostgreSQL expects five hours then, a thousand otherwise
    ) h
    CROSS JOIN LATERAL (
        SELECT least(p.until, (h.hour + 1) * 3600000000) - greatest(p.since, h.hour * 3600000000) AS us,
            p.last AND h.hour = p.until / 3600000000 AS ends
    ) e;
COMMENT ON VIEW attempt_pieces IS 'What ended attempts cost, one row an attempt, charged share and hour: cores and units for so many microseconds.';

-- +goose Down
DROP VIEW attempt_pieces;
DROP TABLE end_counters, fairness_hours, share_memory, share_samples, user_wait_hours, wait_hours, usage_nodes, usage_tasks, usage_days,
    usage_hours, usage_state;
DROP FUNCTION divvy_wait_bounds;
