-- Accounting: what every lease cost, from claim to end, kept by hour and day. One writer: dispatcher.
--
-- Attempts that ended are added to the roll-ups once each, in the order of attempts.nth. A position in that order is safe to
-- count up to when nobody is left who may have taken an earlier number and has not committed: whoever takes one has a lock of
-- the table already (RowExclusiveLock on attempts) and has it until he is through. So the step notes the number that was
-- taken last, then who has such a lock, and counts up to the former once all of the latter are gone. Numbers come out of a
-- sequence, not of transaction ids, so that they go on behind a dump and its restore.

-- +goose Up
CREATE SEQUENCE attempts_nth;
-- Rows that are there have none; they are counted by the hour, see usage_state. A daemon of the version before numbers what it
-- writes, by the default.
ALTER TABLE attempts ADD COLUMN nth bigint;
ALTER TABLE attempts ALTER nth SET DEFAULT nextval('attempts_nth');
ALTER SEQUENCE attempts_nth OWNED BY attempts.nth;
COMMENT ON COLUMN attempts.nth IS 'Number in the order of insertion, with gaps; NULL: it is from before there were numbers.';
-- Numbers rise through the table: a summary of each 64 pages finds the newest, and costs an insert nothing to speak of.
CREATE INDEX attempts_nth_brin ON attempts USING brin (nth) WITH (pages_per_range = 64);
COMMENT ON INDEX attempts_nth_brin IS 'Attempts that are not in the roll-ups yet. BRIN: a btree would cost each end 1 us and 75 bytes of WAL.';

-- A lease that is charged to another share from a moment on leaves a piece behind. Moves are rare, and kept as long as
-- the attempts are. A trigger writes it, so that it is there too where a daemon of the version before makes the move.
CREATE TABLE lease_pieces (
    job_id   bigint      NOT NULL,
    attempt  int         NOT NULL,
    nonce    bigint      NOT NULL,
    share_id int         NOT NULL,
    since    timestamptz NOT NULL,
    until    timestamptz NOT NULL,
    PRIMARY KEY (job_id, attempt, nonce, since, until),
    CHECK (since <= until)
);
COMMENT ON TABLE lease_pieces IS 'Leases that went to another share: whom they were charged to before, from when to when. What comes behind the last piece is charged to the share of the lease, or of the attempt.';
COMMENT ON COLUMN lease_pieces.until IS 'By the clock, not the begin of the transaction, which may lie before the claim. It may lie behind the end of an attempt whose end waited for the move: readers cut it there.';
COMMENT ON INDEX lease_pieces_pkey IS 'By attempt.';
CREATE INDEX lease_pieces_until ON lease_pieces USING brin (until) WITH (pages_per_range = 16, autosummarize = on);
COMMENT ON INDEX lease_pieces_until IS 'Old ones, which purge drops.';
-- +goose StatementBegin
CREATE FUNCTION divvy_lease_piece() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO public.lease_pieces (job_id, attempt, nonce, share_id, since, until)
    SELECT OLD.job_id, OLD.attempt, OLD.nonce, OLD.share_id, s.since, greatest(s.since, clock_timestamp())
    FROM (
        SELECT coalesce(max(p.until), OLD.claimed_at) AS since FROM public.lease_pieces p
        WHERE p.job_id = OLD.job_id AND p.attempt = OLD.attempt AND p.nonce = OLD.nonce
    ) s
    ON CONFLICT DO NOTHING; -- a piece without length, when the clock was set back
    RETURN NULL;
END $$;
-- +goose StatementEnd
COMMENT ON FUNCTION divvy_lease_piece IS 'Notes up to when the share was charged that a lease leaves.';
CREATE TRIGGER piece AFTER UPDATE OF share_id ON leases FOR EACH ROW WHEN (OLD.share_id <> NEW.share_id) EXECUTE FUNCTION divvy_lease_piece();

-- The one place that says how an attempt is split: at changes of share, then at full hours (UTC). Whole microseconds, so
-- that sums are exact. The hour in which it ended counts it (ends), with no time in it when it ended on the hour.
CREATE VIEW attempt_pieces AS
    SELECT a.nth, a.job_id, a.attempt, a.nonce, a.task_id, p.share_id, a.queue_id, a.node, a.cores, a.units, a.outcome, a.claimed_at, a.ended_at,
        to_timestamp(h.hour * 3600) AS hour,
        date '1970-01-01' + (h.hour / 24)::int AS day,
        e.us, e.ends,
        a.cores * e.us * 0.000001 AS slot_seconds,
        a.units * (e.us * 0.000000001) AS unit_seconds,
        CASE WHEN a.outcome IN ('failed', 'lost', 'revoked') THEN a.cores * e.us * 0.000001 ELSE 0 END AS wasted_slot_seconds,
        CASE WHEN e.ends THEN (a.cpu_s * 1000)::bigint ELSE 0 END AS cpu_ms,
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
COMMENT ON VIEW attempt_pieces IS 'What ended attempts cost, a row an attempt, share that was charged and hour: cores and units for so many microseconds.';

-- Up to where attempts are in the roll-ups.
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
COMMENT ON TABLE usage_state IS 'Attempts with a nth up to done are in the roll-ups. Next are those up to upto, as soon as none of holders (virtual transactions) goes on.';
COMMENT ON COLUMN usage_state.past IS 'Attempts without a number that ended in this hour or later are not counted yet; NULL: all are. past_last is the last hour that has some.';
COMMENT ON COLUMN usage_state.rated IS 'Hours before this one are in fairness_hours; NULL: none is.';
INSERT INTO usage_state (past, past_last) SELECT date_trunc('hour', min(ended_at), 'UTC'), date_trunc('hour', max(ended_at), 'UTC') FROM attempts;

-- What is not in the roll-ups yet. A function, not a view: PostgreSQL takes what it cannot know, how much that is, for the whole
-- table and more, and then reads the roll-ups that it is joined with in the worst way there is. It runs with the rights of its
-- owner, as views do. Numbers behind the last one that was taken there are none, so that it ends at once at rest.
-- +goose StatementBegin
CREATE FUNCTION report.uncounted() RETURNS SETOF public.attempt_pieces
LANGUAGE plpgsql STABLE PARALLEL SAFE SECURITY DEFINER ROWS 1000 SET search_path = pg_catalog, pg_temp SET jit = off
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET max_parallel_workers_per_gather = 0
-- To plan for hundreds of days anew takes longer than to read what there is, and without knowing the numbers PostgreSQL would
-- read all days instead of their indexes.
AS $$
DECLARE
    s    public.usage_state;
    last bigint;
BEGIN
    SELECT * INTO STRICT s FROM public.usage_state;
    SELECT CASE WHEN n.is_called THEN n.last_value ELSE 0 END INTO STRICT last FROM public.attempts_nth n;
    IF last > s.done THEN
        RETURN QUERY SELECT p.* FROM public.attempt_pieces p WHERE p.nth > s.done AND p.nth <= last;
    END IF;
    IF s.past IS NOT NULL THEN
        RETURN QUERY SELECT p.* FROM public.attempt_pieces p WHERE p.nth IS NULL AND p.ended_at >= s.past;
    END IF;
END $$;
-- +goose StatementEnd
COMMENT ON FUNCTION report.uncounted IS 'Pieces of attempts that are not in the roll-ups yet: next to nothing as a rule. The usage views add them.';
CREATE VIEW uncounted_pieces AS SELECT p.* FROM report.uncounted() p;

-- Days of attempts are dropped only when they are in the roll-ups, by a daemon of the version before too.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION divvy_drop_days(parent text, before date) RETURNS int
LANGUAGE plpgsql SET lock_timeout = '200ms' SET timezone = 'UTC' SET search_path = public, pg_temp
AS $$
DECLARE
    name      text;
    uncounted boolean;
    dropped   int := 0;
BEGIN
    FOR name IN
        SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
        WHERE i.inhparent = parent::regclass AND c.relname ~ ('^' || parent || '_[0-9]{8}$')
            AND c.relname < (parent || to_char(before, '_YYYYMMDD')) COLLATE "C"
        ORDER BY c.relname
    LOOP
        IF parent = 'attempts' THEN
            EXECUTE format('SELECT EXISTS (SELECT FROM %1$I a WHERE a.nth > s.done) OR s.past IS NOT NULL AND EXISTS (SELECT FROM %1$I a
                WHERE a.nth IS NULL AND a.ended_at >= s.past) FROM usage_state s', name) INTO uncounted;
            EXIT WHEN uncounted;
        END IF;
        EXECUTE format('DROP TABLE %I', name);
        dropped := dropped + 1;
    END LOOP;
    RETURN dropped;
END $$;
-- +goose StatementEnd
COMMENT ON FUNCTION divvy_drop_days IS 'Drops the daily partitions of a table before a date; returns how many. Of attempts only those before the first day of which one is not in the roll-ups yet.';

-- The roll-ups. Seconds are exact to the microsecond (of units: to the thousandth of that).
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
COMMENT ON TABLE usage_hours IS 'What ended attempts cost, by the hour in which it was used, and how many ended in it. user_name: empty where the task is not known.';
COMMENT ON COLUMN usage_hours.wasted_slot_seconds IS 'Of attempts that failed, were lost or revoked.';
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
CREATE TABLE wait_hours (
    hour         timestamptz NOT NULL,
    share_id     int         NOT NULL,
    queue_id     int         NOT NULL,
    bucket       int         NOT NULL,
    jobs         bigint      NOT NULL,
    wait_seconds numeric     NOT NULL,
    PRIMARY KEY (hour, share_id, queue_id, bucket)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);
COMMENT ON TABLE wait_hours IS 'How long jobs waited from being made to their first claim, by the hour of that claim, known when the first attempt is over. bucket: how many of divvy_wait_bounds are not above it.';
COMMENT ON INDEX wait_hours_pkey IS 'Target of upserts, stretches of time.';
CREATE FUNCTION divvy_wait_bounds() RETURNS float8[] LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN '{1,2,5,10,20,30,60,120,300,600,1200,1800,3600,7200,14400,28800,43200,86400,172800,604800}'::float8[];
COMMENT ON FUNCTION divvy_wait_bounds IS 'Seconds at which waits are told apart.';

-- What every share was promised and given in an hour, out of share_samples.
CREATE TABLE fairness_hours (
    hour            timestamptz NOT NULL,
    pool            text        NOT NULL,
    share_id        int         NOT NULL,
    seconds         float8      NOT NULL,
    target_seconds  float8      NOT NULL,
    held_seconds    float8      NOT NULL,
    missed_seconds  float8      NOT NULL,
    starved_seconds float8      NOT NULL,
    busy_seconds    float8      NOT NULL,
    PRIMARY KEY (hour, pool, share_id)
);
COMMENT ON TABLE fairness_hours IS 'Integrals over share_samples: a sample counts until the next one, for ten minutes at the most, since there may have been no daemon. target, held, missed: in units x seconds.';
COMMENT ON COLUMN fairness_hours.missed_seconds IS 'Of target - held, where that was above zero and the share had ready jobs.';
COMMENT ON COLUMN fairness_hours.starved_seconds IS 'Seconds in which it had ready jobs and a target, and held nothing.';
COMMENT ON COLUMN fairness_hours.busy_seconds IS 'Seconds in which it had ready jobs or held something.';
COMMENT ON INDEX fairness_hours_pkey IS 'Stretches of time.';

-- What is not in each of the roll-ups yet: next to nothing as a rule, so that the views below add it where its row is.
CREATE VIEW uncounted_hours AS
    SELECT p.hour, p.share_id, p.queue_id, coalesce(t.user_name, '') AS user_name,
        sum(p.slot_seconds) AS slot_seconds,
        sum(p.unit_seconds) AS unit_seconds,
        sum(p.wasted_slot_seconds) AS wasted_slot_seconds,
        sum(p.cpu_ms)::bigint AS cpu_ms,
        sum(p.finished)::bigint AS finished,
        sum(p.failed)::bigint AS failed,
        sum(p.lost)::bigint AS lost,
        sum(p.cancelled)::bigint AS cancelled,
        sum(p.revoked)::bigint AS revoked
    FROM report.uncounted() p
    LEFT JOIN public.tasks t ON t.id = p.task_id
    GROUP BY p.hour, p.share_id, p.queue_id, coalesce(t.user_name, '');
CREATE VIEW uncounted_days AS
    SELECT p.day, p.share_id, p.queue_id, coalesce(t.user_name, '') AS user_name,
        sum(p.slot_seconds) AS slot_seconds,
        sum(p.unit_seconds) AS unit_seconds,
        sum(p.wasted_slot_seconds) AS wasted_slot_seconds,
        sum(p.cpu_ms)::bigint AS cpu_ms,
        sum(p.finished)::bigint AS finished,
        sum(p.failed)::bigint AS failed,
        sum(p.lost)::bigint AS lost,
        sum(p.cancelled)::bigint AS cancelled,
        sum(p.revoked)::bigint AS revoked
    FROM report.uncounted() p
    LEFT JOIN public.tasks t ON t.id = p.task_id
    GROUP BY p.day, p.share_id, p.queue_id, coalesce(t.user_name, '');
CREATE VIEW uncounted_tasks AS
    SELECT p.day, p.task_id, p.share_id,
        sum(p.slot_seconds) AS slot_seconds,
        sum(p.unit_seconds) AS unit_seconds,
        sum(p.wasted_slot_seconds) AS wasted_slot_seconds,
        sum(p.cpu_ms)::bigint AS cpu_ms,
        sum(p.finished)::bigint AS finished,
        sum(p.failed)::bigint AS failed,
        sum(p.lost)::bigint AS lost,
        sum(p.cancelled)::bigint AS cancelled,
        sum(p.revoked)::bigint AS revoked
    FROM report.uncounted() p
    GROUP BY p.day, p.task_id, p.share_id;
CREATE VIEW uncounted_nodes AS
    SELECT (greatest(p.ended_at, p.claimed_at) AT TIME ZONE 'UTC')::date AS day, p.queue_id, p.node,
        sum(p.slot_seconds) AS slot_seconds,
        sum(p.wasted_slot_seconds) AS wasted_slot_seconds,
        sum(p.finished)::bigint AS finished,
        sum(p.failed)::bigint AS failed,
        sum(p.lost)::bigint AS lost,
        sum(p.cancelled)::bigint AS cancelled,
        sum(p.revoked)::bigint AS revoked
    FROM report.uncounted() p
    GROUP BY (greatest(p.ended_at, p.claimed_at) AT TIME ZONE 'UTC')::date, p.queue_id, p.node;

-- Until now the view read all attempts there are. It keeps its columns, and reads the roll-up and what is not in it yet.
-- Both are joined, not grouped: a month has a million rows, and next to none of them changes.
CREATE OR REPLACE VIEW report.usage_hourly AS
    SELECT u.hour, s.path AS share, q.name AS queue, nullif(u.user_name, '') AS user_name, u.slot_seconds, u.unit_seconds,
        u.finished + u.failed + u.lost + u.cancelled + u.revoked AS jobs, u.failed AS failures, u.lost,
        u.finished, u.cancelled, u.revoked, u.wasted_slot_seconds,
        u.cpu_ms * 0.001 AS cpu_seconds, u.share_id
    FROM (
        SELECT r.hour, r.share_id, r.queue_id, r.user_name,
            r.slot_seconds + coalesce(t.slot_seconds, 0) AS slot_seconds,
            r.unit_seconds + coalesce(t.unit_seconds, 0) AS unit_seconds,
            r.wasted_slot_seconds + coalesce(t.wasted_slot_seconds, 0) AS wasted_slot_seconds,
            r.cpu_ms + coalesce(t.cpu_ms, 0) AS cpu_ms,
            r.finished + coalesce(t.finished, 0) AS finished,
            r.failed + coalesce(t.failed, 0) AS failed,
            r.lost + coalesce(t.lost, 0) AS lost,
            r.cancelled + coalesce(t.cancelled, 0) AS cancelled,
            r.revoked + coalesce(t.revoked, 0) AS revoked
        FROM public.usage_hours r
        LEFT JOIN public.uncounted_hours t USING (hour, share_id, queue_id, user_name)
        UNION ALL
        SELECT t.hour, t.share_id, t.queue_id, t.user_name, t.slot_seconds, t.unit_seconds, t.wasted_slot_seconds, t.cpu_ms, t.finished, t.failed, t.lost, t.cancelled, t.revoked
        FROM public.uncounted_hours t
        WHERE NOT EXISTS (SELECT FROM public.usage_hours r WHERE r.hour = t.hour AND r.share_id = t.share_id AND r.queue_id = t.queue_id AND r.user_name = t.user_name)
    ) u
    LEFT JOIN public.shares s ON s.id = u.share_id
    LEFT JOIN public.queues q ON q.id = u.queue_id;

CREATE VIEW report.usage_daily AS
    SELECT u.day, s.path AS share, q.name AS queue, nullif(u.user_name, '') AS user_name, u.slot_seconds, u.unit_seconds,
        u.finished + u.failed + u.lost + u.cancelled + u.revoked AS jobs, u.failed AS failures, u.lost,
        u.finished, u.cancelled, u.revoked, u.wasted_slot_seconds,
        u.cpu_ms * 0.001 AS cpu_seconds, u.share_id
    FROM (
        SELECT r.day, r.share_id, r.queue_id, r.user_name,
            r.slot_seconds + coalesce(t.slot_seconds, 0) AS slot_seconds,
            r.unit_seconds + coalesce(t.unit_seconds, 0) AS unit_seconds,
            r.wasted_slot_seconds + coalesce(t.wasted_slot_seconds, 0) AS wasted_slot_seconds,
            r.cpu_ms + coalesce(t.cpu_ms, 0) AS cpu_ms,
            r.finished + coalesce(t.finished, 0) AS finished,
            r.failed + coalesce(t.failed, 0) AS failed,
            r.lost + coalesce(t.lost, 0) AS lost,
            r.cancelled + coalesce(t.cancelled, 0) AS cancelled,
            r.revoked + coalesce(t.revoked, 0) AS revoked
        FROM public.usage_days r
        LEFT JOIN public.uncounted_days t USING (day, share_id, queue_id, user_name)
        UNION ALL
        SELECT t.day, t.share_id, t.queue_id, t.user_name, t.slot_seconds, t.unit_seconds, t.wasted_slot_seconds, t.cpu_ms, t.finished, t.failed, t.lost, t.cancelled, t.revoked
        FROM public.uncounted_days t
        WHERE NOT EXISTS (SELECT FROM public.usage_days r WHERE r.day = t.day AND r.share_id = t.share_id AND r.queue_id = t.queue_id AND r.user_name = t.user_name)
    ) u
    LEFT JOIN public.shares s ON s.id = u.share_id
    LEFT JOIN public.queues q ON q.id = u.queue_id;

CREATE VIEW report.task_usage AS
    SELECT u.day, u.task_id, t.name, t.user_name, s.path AS share, u.slot_seconds, u.unit_seconds,
        u.finished + u.failed + u.lost + u.cancelled + u.revoked AS jobs, u.failed AS failures, u.lost,
        u.finished, u.cancelled, u.revoked, u.wasted_slot_seconds,
        u.cpu_ms * 0.001 AS cpu_seconds, u.share_id
    FROM (
        SELECT r.day, r.task_id, r.share_id,
            r.slot_seconds + coalesce(t.slot_seconds, 0) AS slot_seconds,
            r.unit_seconds + coalesce(t.unit_seconds, 0) AS unit_seconds,
            r.wasted_slot_seconds + coalesce(t.wasted_slot_seconds, 0) AS wasted_slot_seconds,
            r.cpu_ms + coalesce(t.cpu_ms, 0) AS cpu_ms,
            r.finished + coalesce(t.finished, 0) AS finished,
            r.failed + coalesce(t.failed, 0) AS failed,
            r.lost + coalesce(t.lost, 0) AS lost,
            r.cancelled + coalesce(t.cancelled, 0) AS cancelled,
            r.revoked + coalesce(t.revoked, 0) AS revoked
        FROM public.usage_tasks r
        LEFT JOIN public.uncounted_tasks t USING (day, task_id, share_id)
        UNION ALL
        SELECT t.day, t.task_id, t.share_id, t.slot_seconds, t.unit_seconds, t.wasted_slot_seconds, t.cpu_ms, t.finished, t.failed, t.lost, t.cancelled, t.revoked
        FROM public.uncounted_tasks t
        WHERE NOT EXISTS (SELECT FROM public.usage_tasks r WHERE r.day = t.day AND r.task_id = t.task_id AND r.share_id = t.share_id)
    ) u
    LEFT JOIN public.shares s ON s.id = u.share_id
    LEFT JOIN public.tasks t ON t.id = u.task_id;

-- One row an attempt, although it may have pieces: all that it cost counts on the day of its end.
CREATE VIEW report.node_usage AS
    SELECT u.day, q.name AS queue, u.node, u.slot_seconds, u.wasted_slot_seconds,
        u.finished + u.failed + u.lost + u.cancelled + u.revoked AS jobs, u.failed AS failures, u.lost,
        u.finished, u.cancelled, u.revoked
    FROM (
        SELECT r.day, r.queue_id, r.node,
            r.slot_seconds + coalesce(t.slot_seconds, 0) AS slot_seconds,
            r.wasted_slot_seconds + coalesce(t.wasted_slot_seconds, 0) AS wasted_slot_seconds,
            r.finished + coalesce(t.finished, 0) AS finished,
            r.failed + coalesce(t.failed, 0) AS failed,
            r.lost + coalesce(t.lost, 0) AS lost,
            r.cancelled + coalesce(t.cancelled, 0) AS cancelled,
            r.revoked + coalesce(t.revoked, 0) AS revoked
        FROM public.usage_nodes r
        LEFT JOIN public.uncounted_nodes t USING (day, queue_id, node)
        UNION ALL
        SELECT t.day, t.queue_id, t.node, t.slot_seconds, t.wasted_slot_seconds, t.finished, t.failed, t.lost, t.cancelled, t.revoked
        FROM public.uncounted_nodes t
        WHERE NOT EXISTS (SELECT FROM public.usage_nodes r WHERE r.day = t.day AND r.queue_id = t.queue_id AND r.node = t.node)
    ) u
    LEFT JOIN public.queues q ON q.id = u.queue_id;

CREATE VIEW report.charges AS
    SELECT p.job_id, p.attempt, p.task_id, t.user_name, s.path AS share, q.name AS queue, p.hour, p.cores,
        (p.units / 1000.0)::numeric(20, 3) AS units, p.slot_seconds, p.unit_seconds, p.outcome, p.ends, p.claimed_at, p.ended_at
    FROM public.attempt_pieces p
    LEFT JOIN public.shares s ON s.id = p.share_id
    LEFT JOIN public.queues q ON q.id = p.queue_id
    LEFT JOIN public.tasks t ON t.id = p.task_id;

CREATE VIEW report.waits AS
    SELECT w.hour, s.path AS share, q.name AS queue, coalesce((public.divvy_wait_bounds())[w.bucket], 0) AS from_seconds,
        (public.divvy_wait_bounds())[w.bucket + 1] AS to_seconds, w.jobs, w.wait_seconds
    FROM public.wait_hours w
    LEFT JOIN public.shares s ON s.id = w.share_id
    LEFT JOIN public.queues q ON q.id = w.queue_id;

CREATE VIEW report.share_fairness AS
    SELECT f.hour, f.pool, s.path AS share, s.leaf, f.seconds, f.target_seconds AS target_unit_seconds, f.held_seconds AS held_unit_seconds,
        f.missed_seconds AS missed_unit_seconds, f.starved_seconds, f.busy_seconds, f.share_id
    FROM public.fairness_hours f
    LEFT JOIN public.shares s ON s.id = f.share_id;

-- Jain's index: (sum x)^2 / (n sum x^2), of x = held / target; 1 = all were given the same part of what they were promised.
CREATE VIEW report.fairness AS
    SELECT hour, pool, count(*) AS shares,
        (sum(x) * sum(x) / nullif(count(*) * sum(x * x), 0))::numeric(6, 4) AS jain,
        max(abs(held - target)) AS largest_deviation_units,
        (array_agg(share ORDER BY abs(held - target) DESC, share))[1] AS furthest_share,
        sum(missed_seconds) AS missed_unit_seconds,
        count(*) FILTER (WHERE starved_seconds > 0) AS starved_shares
    FROM (
        SELECT f.hour, f.pool, s.path AS share, f.held_seconds / f.target_seconds AS x, f.held_seconds / f.seconds AS held,
            f.target_seconds / f.seconds AS target, f.missed_seconds, f.starved_seconds
        FROM public.fairness_hours f
        JOIN public.shares s ON s.id = f.share_id
        WHERE s.leaf AND f.target_seconds > 0 AND f.busy_seconds > 0
    ) leaves
    GROUP BY hour, pool;

CREATE VIEW report.queue_health AS
    WITH moves AS (
        SELECT queue_id, shape_id, held, held_units FROM public.counters WHERE queue_id <> 0
        UNION ALL
        SELECT queue_id, shape_id, n * ((after = 'l')::int - (before = 'l')::int), units * ((after = 'l')::int - (before = 'l')::int)
        FROM public.ledger_tail_moves WHERE queue_id <> 0
    ), held AS (
        SELECT m.queue_id, sum(m.held) FILTER (WHERE h.cores > 0) AS jobs, sum(m.held * h.cores) AS cores, sum(m.held_units) AS units
        FROM moves m JOIN public.shapes h ON h.id = m.shape_id
        GROUP BY m.queue_id
    ), used AS (
        SELECT queue_id, sum(finished + failed + lost + cancelled + revoked) AS attempts, sum(failed) AS failed, sum(lost) AS lost,
            sum(slot_seconds) AS slot_seconds, sum(wasted_slot_seconds) AS wasted
        FROM (
            SELECT queue_id, finished, failed, lost, cancelled, revoked, slot_seconds, wasted_slot_seconds FROM public.usage_hours
            WHERE hour >= date_trunc('hour', now(), 'UTC') - interval '23 hours'
            UNION ALL
            SELECT queue_id, finished, failed, lost, cancelled, revoked, slot_seconds, wasted_slot_seconds FROM report.uncounted()
            WHERE hour >= date_trunc('hour', now(), 'UTC') - interval '23 hours'
        ) lately
        GROUP BY queue_id
    )
    SELECT q.name AS queue, q.pool, q.state, q.slots, q.core_power_milli / 1000.0 AS core_power,
        coalesce(h.jobs, 0)::bigint AS held_jobs, coalesce(h.cores, 0)::bigint AS held_cores, (coalesce(h.units, 0) / 1000)::numeric(20, 3) AS held_units,
        EXISTS (SELECT FROM public.daemons d WHERE d.closed_at IS NULL AND q.id = ANY (d.pilot_queues)) AS has_pilots,
        b.since AS black_hole_since,
        coalesce(u.attempts, 0)::bigint AS attempts, coalesce(u.failed, 0)::bigint AS failures, coalesce(u.lost, 0)::bigint AS lost,
        round(100.0 * (u.failed + u.lost) / nullif(u.attempts, 0), 1) AS bad_percent,
        coalesce(u.slot_seconds, 0) AS slot_seconds, coalesce(u.wasted, 0) AS wasted_slot_seconds
    FROM public.queues q
    LEFT JOIN held h ON h.queue_id = q.id
    LEFT JOIN used u ON u.queue_id = q.id
    LEFT JOIN public.black_holes b ON b.queue_id = q.id
    WHERE q.removed_in IS NULL;

CREATE VIEW report.versions AS
    SELECT v.version, v.applied_at, v.applied_by, v.note, v.rollback_of,
        (SELECT count(*) FROM jsonb_object_keys(v.share_ids)) AS shares, (SELECT count(*) FROM jsonb_object_keys(v.queue_ids)) AS queues,
        lead(v.applied_at) OVER (ORDER BY v.version) AS replaced_at
    FROM public.site_versions v;

CREATE VIEW report.version_shares AS
    SELECT v.version, k.key AS share, k.value::int AS share_id
    FROM public.site_versions v
    CROSS JOIN LATERAL jsonb_each_text(v.share_ids) AS k;

CREATE VIEW report.about AS
    SELECT 2 AS version, u.done AS counted_up_to, u.at AS counted_at, u.past IS NULL AS complete, u.rated AS rated_up_to
    FROM public.usage_state u;
COMMENT ON VIEW report.usage_hourly IS 'What ended attempts cost, by the hour in which it was used: a row an hour, share, queue and user. A lease that still runs is not in it yet: see report.leases.';
COMMENT ON COLUMN report.usage_hourly.share IS 'Path of the share that was charged, piece by piece where the job went to another while it ran.';
COMMENT ON COLUMN report.usage_hourly.finished IS 'Of jobs, those that finished.';
COMMENT ON COLUMN report.usage_hourly.cancelled IS 'Of jobs, those that nobody wanted any more.';
COMMENT ON COLUMN report.usage_hourly.revoked IS 'Of jobs, those whose units were reclaimed.';
COMMENT ON COLUMN report.usage_hourly.wasted_slot_seconds IS 'Of slot_seconds, those of attempts that failed, were lost or revoked.';
COMMENT ON COLUMN report.usage_hourly.cpu_seconds IS 'CPU time, as pilots reported, of the attempts that ended in this hour.';
COMMENT ON COLUMN report.usage_hourly.share_id IS 'Stable id of the share, never reused.';
COMMENT ON VIEW report.usage_daily IS 'report.usage_hourly by the day (UTC): a row a day, share, queue and user.';
COMMENT ON COLUMN report.usage_daily.day IS 'Day, UTC.';
COMMENT ON COLUMN report.usage_daily.share IS 'Path of the share that was charged.';
COMMENT ON COLUMN report.usage_daily.queue IS 'Queue where it was used.';
COMMENT ON COLUMN report.usage_daily.user_name IS 'Whose tasks used it.';
COMMENT ON COLUMN report.usage_daily.slot_seconds IS 'Cores times seconds of the leases within this day.';
COMMENT ON COLUMN report.usage_daily.unit_seconds IS 'Units times seconds of the leases within this day.';
COMMENT ON COLUMN report.usage_daily.jobs IS 'Attempts that ended on this day, whatever their outcome.';
COMMENT ON COLUMN report.usage_daily.failures IS 'Of these, those that failed.';
COMMENT ON COLUMN report.usage_daily.lost IS 'Of these, those whose lease ran out.';
COMMENT ON COLUMN report.usage_daily.finished IS 'Of these, those that finished.';
COMMENT ON COLUMN report.usage_daily.cancelled IS 'Of these, those that nobody wanted any more.';
COMMENT ON COLUMN report.usage_daily.revoked IS 'Of these, those whose units were reclaimed.';
COMMENT ON COLUMN report.usage_daily.wasted_slot_seconds IS 'Of slot_seconds, those of attempts that failed, were lost or revoked.';
COMMENT ON COLUMN report.usage_daily.cpu_seconds IS 'CPU time, as pilots reported, of the attempts that ended on this day.';
COMMENT ON COLUMN report.usage_daily.share_id IS 'Stable id of the share, never reused.';
COMMENT ON VIEW report.task_usage IS 'What a task used on a day (UTC): a row a day, task and share.';
COMMENT ON COLUMN report.task_usage.day IS 'Day, UTC.';
COMMENT ON COLUMN report.task_usage.task_id IS 'Id of the task.';
COMMENT ON COLUMN report.task_usage.name IS 'Name that the user gave it; not unique.';
COMMENT ON COLUMN report.task_usage.user_name IS 'Whose task it is.';
COMMENT ON COLUMN report.task_usage.share IS 'Path of the share that was charged.';
COMMENT ON COLUMN report.task_usage.slot_seconds IS 'Cores times seconds of its leases within this day.';
COMMENT ON COLUMN report.task_usage.unit_seconds IS 'Units times seconds of its leases within this day.';
COMMENT ON COLUMN report.task_usage.jobs IS 'Attempts that ended on this day, whatever their outcome.';
COMMENT ON COLUMN report.task_usage.failures IS 'Of these, those that failed.';
COMMENT ON COLUMN report.task_usage.lost IS 'Of these, those whose lease ran out.';
COMMENT ON COLUMN report.task_usage.finished IS 'Of these, those that finished.';
COMMENT ON COLUMN report.task_usage.cancelled IS 'Of these, those that nobody wanted any more.';
COMMENT ON COLUMN report.task_usage.revoked IS 'Of these, those whose units were reclaimed.';
COMMENT ON COLUMN report.task_usage.wasted_slot_seconds IS 'Of slot_seconds, those of attempts that failed, were lost or revoked.';
COMMENT ON COLUMN report.task_usage.cpu_seconds IS 'CPU time, as pilots reported, of the attempts that ended on this day.';
COMMENT ON COLUMN report.task_usage.share_id IS 'Stable id of the share, never reused.';
COMMENT ON VIEW report.node_usage IS 'Attempts that ended at a node on a day (UTC), with all that they cost, also what they cost the day before.';
COMMENT ON COLUMN report.node_usage.day IS 'Day, UTC.';
COMMENT ON COLUMN report.node_usage.queue IS 'Queue that the node belongs to.';
COMMENT ON COLUMN report.node_usage.node IS 'Host of the pilots; empty when they did not say.';
COMMENT ON COLUMN report.node_usage.slot_seconds IS 'Cores times seconds of these attempts, from claim to end.';
COMMENT ON COLUMN report.node_usage.wasted_slot_seconds IS 'Of these, those of attempts that failed, were lost or revoked.';
COMMENT ON COLUMN report.node_usage.jobs IS 'Attempts that ended, whatever their outcome.';
COMMENT ON COLUMN report.node_usage.failures IS 'Of these, those that failed.';
COMMENT ON COLUMN report.node_usage.lost IS 'Of these, those whose lease ran out.';
COMMENT ON COLUMN report.node_usage.finished IS 'Of these, those that finished.';
COMMENT ON COLUMN report.node_usage.cancelled IS 'Of these, those that nobody wanted any more.';
COMMENT ON COLUMN report.node_usage.revoked IS 'Of these, those whose units were reclaimed.';
COMMENT ON VIEW report.charges IS 'How every ended attempt is split: a row an attempt, share that was charged, and hour. What the usage views are the sums of. Restrict it by ended_at: days are stored apart.';
COMMENT ON COLUMN report.charges.job_id IS 'Job that was tried.';
COMMENT ON COLUMN report.charges.attempt IS 'Number of the attempt, from 1.';
COMMENT ON COLUMN report.charges.task_id IS 'Task of the job.';
COMMENT ON COLUMN report.charges.user_name IS 'Whose task it is.';
COMMENT ON COLUMN report.charges.share IS 'Path of the share that this piece was charged to.';
COMMENT ON COLUMN report.charges.queue IS 'Queue where it ran.';
COMMENT ON COLUMN report.charges.hour IS 'Begin of the hour that the piece lies in.';
COMMENT ON COLUMN report.charges.cores IS 'Cores that it held.';
COMMENT ON COLUMN report.charges.units IS 'Units that it held.';
COMMENT ON COLUMN report.charges.slot_seconds IS 'Cores times seconds of this piece.';
COMMENT ON COLUMN report.charges.unit_seconds IS 'Units times seconds of this piece.';
COMMENT ON COLUMN report.charges.outcome IS 'finished, failed, lost, cancelled or revoked.';
COMMENT ON COLUMN report.charges.ends IS 'Whether the attempt ended in this piece: it counts once.';
COMMENT ON COLUMN report.charges.claimed_at IS 'When the lease began.';
COMMENT ON COLUMN report.charges.ended_at IS 'When the lease ended.';
COMMENT ON VIEW report.waits IS 'How long jobs waited from being made to their first claim: a row an hour, share, queue and span of waits.';
COMMENT ON COLUMN report.waits.hour IS 'Begin of the hour in which they were claimed first. They are known when the first attempt is over.';
COMMENT ON COLUMN report.waits.share IS 'Path of the share that the attempt ended under.';
COMMENT ON COLUMN report.waits.queue IS 'Queue where they were claimed.';
COMMENT ON COLUMN report.waits.from_seconds IS 'They waited so long at least.';
COMMENT ON COLUMN report.waits.to_seconds IS 'They waited less than this; NULL: no bound.';
COMMENT ON COLUMN report.waits.jobs IS 'So many of them.';
COMMENT ON COLUMN report.waits.wait_seconds IS 'Sum of their waits.';
COMMENT ON VIEW report.share_fairness IS 'What a share was promised and given in an hour, of each pool, by the samples: a row an hour, pool and share. Hours that are over.';
COMMENT ON COLUMN report.share_fairness.hour IS 'Begin of the hour.';
COMMENT ON COLUMN report.share_fairness.pool IS 'Resource group: the queues that are shared out together.';
COMMENT ON COLUMN report.share_fairness.share IS 'Path of the share.';
COMMENT ON COLUMN report.share_fairness.leaf IS 'Leaves hold jobs; inner nodes only divide.';
COMMENT ON COLUMN report.share_fairness.seconds IS 'Seconds of the hour of which there are samples.';
COMMENT ON COLUMN report.share_fairness.target_unit_seconds IS 'What it should have held: units times seconds.';
COMMENT ON COLUMN report.share_fairness.held_unit_seconds IS 'What it held.';
COMMENT ON COLUMN report.share_fairness.missed_unit_seconds IS 'What it held too little while it had ready jobs.';
COMMENT ON COLUMN report.share_fairness.starved_seconds IS 'Seconds in which it had ready jobs and a target and held nothing.';
COMMENT ON COLUMN report.share_fairness.busy_seconds IS 'Seconds in which it had ready jobs or held something.';
COMMENT ON COLUMN report.share_fairness.share_id IS 'Stable id of the share, never reused.';
COMMENT ON VIEW report.fairness IS 'How fair an hour was, of each pool: over the leaves that had a target and jobs.';
COMMENT ON COLUMN report.fairness.hour IS 'Begin of the hour.';
COMMENT ON COLUMN report.fairness.pool IS 'Resource group.';
COMMENT ON COLUMN report.fairness.shares IS 'Leaves that had a target and jobs.';
COMMENT ON COLUMN report.fairness.jain IS 'Jain''s index of held / target: 1 = all had the same part of what they were promised, 1/shares = one had all.';
COMMENT ON COLUMN report.fairness.largest_deviation_units IS 'The largest distance of held from target, in the mean of the hour.';
COMMENT ON COLUMN report.fairness.furthest_share IS 'Path of the share that had it.';
COMMENT ON COLUMN report.fairness.missed_unit_seconds IS 'What leaves held too little while they had ready jobs, in all.';
COMMENT ON COLUMN report.fairness.starved_shares IS 'Leaves that had ready jobs and a target and held nothing for some time.';
COMMENT ON VIEW report.queue_health IS 'The queues of the site in force: what they hold now, and how attempts ended there in this hour and the 23 before it.';
COMMENT ON COLUMN report.queue_health.queue IS 'Name of the queue.';
COMMENT ON COLUMN report.queue_health.pool IS 'Resource group.';
COMMENT ON COLUMN report.queue_health.state IS 'online, drain, offline or test.';
COMMENT ON COLUMN report.queue_health.slots IS 'Cores that may run at once; NULL: no limit.';
COMMENT ON COLUMN report.queue_health.core_power IS 'Units that a core of it counts.';
COMMENT ON COLUMN report.queue_health.held_jobs IS 'Jobs under a lease there.';
COMMENT ON COLUMN report.queue_health.held_cores IS 'Cores that they hold.';
COMMENT ON COLUMN report.queue_health.held_units IS 'Units that they hold.';
COMMENT ON COLUMN report.queue_health.has_pilots IS 'Whether a daemon has seen pilots of it lately.';
COMMENT ON COLUMN report.queue_health.black_hole_since IS 'Since when it is given a job from time to time only, as it failed nearly all; NULL: it is not.';
COMMENT ON COLUMN report.queue_health.attempts IS 'Attempts that ended there, whatever their outcome.';
COMMENT ON COLUMN report.queue_health.failures IS 'Of these, those that failed.';
COMMENT ON COLUMN report.queue_health.lost IS 'Of these, those whose lease ran out.';
COMMENT ON COLUMN report.queue_health.bad_percent IS 'failures and lost of 100 attempts; NULL: there were none.';
COMMENT ON COLUMN report.queue_health.slot_seconds IS 'Cores times seconds that ended attempts used in these hours.';
COMMENT ON COLUMN report.queue_health.wasted_slot_seconds IS 'Of these, those of attempts that failed, were lost or revoked.';
COMMENT ON VIEW report.versions IS 'Every version of the site file; the largest is in force.';
COMMENT ON COLUMN report.versions.version IS 'Number.';
COMMENT ON COLUMN report.versions.applied_at IS 'Since when it is in force.';
COMMENT ON COLUMN report.versions.applied_by IS 'Who applied it.';
COMMENT ON COLUMN report.versions.note IS 'What he said about it.';
COMMENT ON COLUMN report.versions.rollback_of IS 'Version that it brought back; NULL: it is no rollback.';
COMMENT ON COLUMN report.versions.shares IS 'Nodes of its tree.';
COMMENT ON COLUMN report.versions.queues IS 'Its queues.';
COMMENT ON COLUMN report.versions.replaced_at IS 'Until when it was in force; NULL: it is.';
COMMENT ON VIEW report.version_shares IS 'The share tree of every version: a row a version and node.';
COMMENT ON COLUMN report.version_shares.version IS 'Number of the version.';
COMMENT ON COLUMN report.version_shares.share IS 'Path of the node as this version has it.';
COMMENT ON COLUMN report.version_shares.share_id IS 'Stable id of the share, never reused.';
COMMENT ON VIEW report.about IS 'One row about this schema itself.';
COMMENT ON COLUMN report.about.version IS 'Rises when views or columns are added. None is ever taken away or changed.';
COMMENT ON COLUMN report.about.counted_up_to IS 'Number of the last attempt that is in the roll-ups. What came after it the usage views read one by one.';
COMMENT ON COLUMN report.about.counted_at IS 'When that was.';
COMMENT ON COLUMN report.about.complete IS 'Whether attempts from before there were roll-ups are all in them; until then the usage views are slow, and as exact.';
COMMENT ON COLUMN report.about.rated_up_to IS 'Hours before this one are in share_fairness and fairness; NULL: none is.';

-- +goose StatementBegin
DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'divvy_reader') THEN
        GRANT SELECT ON ALL TABLES IN SCHEMA report TO divvy_reader;
    END IF;
END $$;
-- +goose StatementEnd

-- +goose Down
-- usage_hourly reads the attempts themselves again; its new columns go with it, as do those who read them.
DROP VIEW report.about, report.version_shares, report.versions, report.queue_health, report.fairness, report.share_fairness, report.waits,
    report.charges, report.node_usage, report.task_usage, report.usage_daily, report.usage_hourly;
CREATE VIEW report.usage_hourly AS
    SELECT h.hour, s.path AS share, q.name AS queue, t.user_name,
        sum(a.cores * p.seconds) AS slot_seconds,
        sum(a.units / 1000.0 * p.seconds) AS unit_seconds,
        count(*) FILTER (WHERE p.last) AS jobs,
        count(*) FILTER (WHERE p.last AND a.outcome = 'failed') AS failures,
        count(*) FILTER (WHERE p.last AND a.outcome = 'lost') AS lost
    FROM public.attempts a
    CROSS JOIN LATERAL generate_series(date_trunc('hour', a.claimed_at, 'UTC'), date_trunc('hour', a.ended_at, 'UTC'),
        interval '1 hour') AS h (hour)
    CROSS JOIN LATERAL (
        SELECT extract(epoch FROM least(a.ended_at, h.hour + interval '1 hour') - greatest(a.claimed_at, h.hour)) AS seconds,
            h.hour = date_trunc('hour', a.ended_at, 'UTC') AS last
    ) p
    LEFT JOIN public.shares s ON s.id = a.share_id
    LEFT JOIN public.queues q ON q.id = a.queue_id
    LEFT JOIN public.tasks t ON t.id = a.task_id
    GROUP BY h.hour, s.path, q.name, t.user_name;
COMMENT ON VIEW report.usage_hourly IS 'What ended attempts cost, by the hour in which it was used. A lease that still runs is not in it yet: see report.leases.';
COMMENT ON COLUMN report.usage_hourly.hour IS 'Begin of the hour.';
COMMENT ON COLUMN report.usage_hourly.share IS 'Path of the share that was charged.';
COMMENT ON COLUMN report.usage_hourly.queue IS 'Queue where it was used.';
COMMENT ON COLUMN report.usage_hourly.user_name IS 'Whose tasks used it.';
COMMENT ON COLUMN report.usage_hourly.slot_seconds IS 'Cores times seconds of the leases within this hour.';
COMMENT ON COLUMN report.usage_hourly.unit_seconds IS 'Units times seconds of the leases within this hour.';
COMMENT ON COLUMN report.usage_hourly.jobs IS 'Attempts that ended in this hour, whatever their outcome.';
COMMENT ON COLUMN report.usage_hourly.failures IS 'Of these, those that failed.';
COMMENT ON COLUMN report.usage_hourly.lost IS 'Of these, those whose lease ran out.';
-- +goose StatementBegin
DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'divvy_reader') THEN
        GRANT SELECT ON report.usage_hourly TO divvy_reader;
    END IF;
END $$;
-- +goose StatementEnd
DROP VIEW uncounted_hours, uncounted_days, uncounted_tasks, uncounted_nodes, uncounted_pieces;
DROP FUNCTION report.uncounted();
DROP VIEW attempt_pieces;
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION divvy_drop_days(parent text, before date) RETURNS int
LANGUAGE plpgsql SET lock_timeout = '200ms' SET timezone = 'UTC' SET search_path = public, pg_temp
AS $$
DECLARE
    name    text;
    dropped int := 0;
BEGIN
    FOR name IN
        SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
        WHERE i.inhparent = parent::regclass AND c.relname ~ ('^' || parent || '_[0-9]{8}$')
            AND c.relname < (parent || to_char(before, '_YYYYMMDD')) COLLATE "C"
        ORDER BY c.relname
    LOOP
        EXECUTE format('DROP TABLE %I', name);
        dropped := dropped + 1;
    END LOOP;
    RETURN dropped;
END $$;
-- +goose StatementEnd
COMMENT ON FUNCTION divvy_drop_days IS 'Drops the daily partitions of a table before a date; returns how many.';
DROP TRIGGER piece ON leases;
DROP FUNCTION divvy_lease_piece();
DROP TABLE fairness_hours, wait_hours, usage_nodes, usage_tasks, usage_days, usage_hours, usage_state, lease_pieces;
DROP FUNCTION divvy_wait_bounds();
ALTER TABLE attempts DROP COLUMN nth; -- and the sequence with it
