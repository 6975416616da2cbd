-- What people may read with SQL: schema report, role divvy_reader. Everything else in the database may change
-- from one release to the next; these views only gain columns.
--
-- The views run with the rights of their owner, so that a reader needs no right on any table. Units are units
-- here (a core times the core power of its queue), not the thousandths that the tables count.

-- +goose Up
CREATE SCHEMA report;
COMMENT ON SCHEMA report IS 'Stable views for reports and dashboards, described in docs/reporting.md; readable by role divvy_reader.';

-- Exact at the moment of reading: the checkpoint plus the part of the ledger that it does not have yet. An
-- inner node has the sums of its leaves.
CREATE VIEW report.shares_now AS
    WITH RECURSIVE upwards (share_id, node_id) AS (
        SELECT id, id FROM public.shares
        UNION ALL
        SELECT u.share_id, s.parent_id FROM upwards u JOIN public.shares s ON s.id = u.node_id WHERE s.parent_id IS NOT NULL
    ), moves AS (
        SELECT share_id, waiting, ready, held, held_units FROM public.counters
        UNION ALL
        SELECT share_id,
            n * ((after = 'w')::int - (before = 'w')::int),
            n * ((after = 'r')::int - (before = 'r')::int),
            n * ((after = 'l')::int - (before = 'l')::int),
            units * ((after = 'l')::int - (before = 'l')::int)
        FROM public.ledger_tail_moves
    ), sums AS (
        SELECT u.node_id, sum(m.waiting) AS waiting, sum(m.ready) AS ready, sum(m.held) AS held, sum(m.held_units) AS held_units
        FROM (
            SELECT share_id, sum(waiting) AS waiting, sum(ready) AS ready, sum(held) AS held, sum(held_units) AS held_units
            FROM moves GROUP BY share_id
        ) m
        JOIN upwards u USING (share_id)
        GROUP BY u.node_id
    )
    SELECT s.id AS share_id,
        s.path,
        s.leaf,
        s.weight,
        s.tier,
        coalesce(n.waiting, 0)::bigint AS waiting_jobs,
        coalesce(n.ready, 0)::bigint AS ready_jobs,
        coalesce(n.held, 0)::bigint AS held_jobs,
        (coalesce(n.held_units, 0) / 1000)::numeric(20, 3) AS held_units,
        t.target_units,
        t.target_at
    FROM public.shares s
    LEFT JOIN sums n ON n.node_id = s.id
    LEFT JOIN LATERAL (
        SELECT sum(newest.target)::numeric(20, 3) AS target_units, max(newest.at) AS target_at
        FROM (SELECT DISTINCT pool FROM public.queues WHERE removed_in IS NULL) p
        CROSS JOIN LATERAL (
            SELECT target, at FROM public.share_samples
            WHERE share_id = s.id AND pool = p.pool
            ORDER BY at DESC LIMIT 1
        ) newest
    ) t ON true
    WHERE s.removed_in IS NULL;
COMMENT ON VIEW report.shares_now IS 'Every node of the share tree in force, as it stands now; inner nodes have the sums of their leaves.';
COMMENT ON COLUMN report.shares_now.share_id IS 'Stable id of the share, never reused.';
COMMENT ON COLUMN report.shares_now.path IS 'Names from the top down, joined by slashes: Production/MC.';
COMMENT ON COLUMN report.shares_now.leaf IS 'Leaves hold jobs; inner nodes only divide.';
COMMENT ON COLUMN report.shares_now.weight IS 'Weight among its siblings.';
COMMENT ON COLUMN report.shares_now.tier IS 'Lower tiers are filled first.';
COMMENT ON COLUMN report.shares_now.waiting_jobs IS 'Jobs that may not run yet, of paused or held tasks.';
COMMENT ON COLUMN report.shares_now.ready_jobs IS 'Jobs that wait for a slot.';
COMMENT ON COLUMN report.shares_now.held_jobs IS 'Jobs under a lease, from granted to draining.';
COMMENT ON COLUMN report.shares_now.held_units IS 'Units under those leases: cores times the core power of their queues.';
COMMENT ON COLUMN report.shares_now.target_units IS 'Units that the share should hold, of the newest sample, summed over pools; NULL before the first one.';
COMMENT ON COLUMN report.shares_now.target_at IS 'When that sample was taken.';

CREATE VIEW report.tasks AS
    SELECT t.id AS task_id,
        t.name,
        t.user_name,
        s.path AS share,
        t.state,
        t.reason,
        t.priority,
        t.attributes::jsonb AS attributes,
        t.n_jobs AS total,
        t.n_waiting AS waiting,
        t.n_ready AS ready,
        t.n_leased AS leased,
        t.n_finished AS finished,
        t.n_failed AS failed,
        t.n_cancelled AS cancelled,
        t.created_at,
        t.committed_at,
        t.started_at,
        t.ended_at
    FROM public.tasks t
    LEFT JOIN public.shares s ON s.id = t.share_id;
COMMENT ON VIEW report.tasks IS 'Every task with its job counts, which are at most a second or two behind.';
COMMENT ON COLUMN report.tasks.task_id IS 'Id of the task.';
COMMENT ON COLUMN report.tasks.name IS 'Name that the user gave it; not unique.';
COMMENT ON COLUMN report.tasks.user_name IS 'Whose task it is.';
COMMENT ON COLUMN report.tasks.share IS 'Path of the share that pays; NULL while none is decided.';
COMMENT ON COLUMN report.tasks.state IS 'submitting waiting ready scouting running paused throttled exhausted finishing; in the end done finished failed aborted.';
COMMENT ON COLUMN report.tasks.reason IS 'Why it is in that state, where there is something to say.';
COMMENT ON COLUMN report.tasks.priority IS 'Within its share, higher goes first.';
COMMENT ON COLUMN report.tasks.attributes IS 'What tagging rules look at: label, working_group, campaign, …';
COMMENT ON COLUMN report.tasks.total IS 'Jobs that the task has by now: made and still to make, retries too.';
COMMENT ON COLUMN report.tasks.waiting IS 'Jobs that may not run yet.';
COMMENT ON COLUMN report.tasks.ready IS 'Jobs that wait for a slot.';
COMMENT ON COLUMN report.tasks.leased IS 'Jobs that a pilot has.';
COMMENT ON COLUMN report.tasks.finished IS 'Jobs that ended well.';
COMMENT ON COLUMN report.tasks.failed IS 'Jobs whose attempts are used up.';
COMMENT ON COLUMN report.tasks.cancelled IS 'Jobs that nobody wanted any more.';
COMMENT ON COLUMN report.tasks.created_at IS 'When its submission began.';
COMMENT ON COLUMN report.tasks.committed_at IS 'When its submission was complete; NULL before.';
COMMENT ON COLUMN report.tasks.started_at IS 'When its first job was leased; NULL before.';
COMMENT ON COLUMN report.tasks.ended_at IS 'When it reached its final state; NULL before.';

CREATE VIEW report.jobs AS
    SELECT j.id AS job_id, j.task_id, s.path AS share, CASE WHEN l.job_id IS NOT NULL THEN 'leased' ELSE j.state END AS state,
        j.priority, j.attempt, j.max_attempts, j.idx AS index, j.retry_of, q.name AS queue, l.pilot, j.created_at,
        NULL::timestamptz AS ended_at
    FROM public.jobs j
    JOIN public.shares s ON s.id = j.share_id
    LEFT JOIN public.leases l ON l.job_id = j.id
    LEFT JOIN public.queues q ON q.id = l.queue_id
    UNION ALL
    SELECT e.id, e.task_id, s.path, e.state, e.priority, e.attempt, e.max_attempts, e.idx, e.retry_of, NULL, NULL, e.created_at,
        e.ended_at
    FROM public.ended_jobs e
    LEFT JOIN public.shares s ON s.id = e.share_id;
COMMENT ON VIEW report.jobs IS 'Every job, live or ended. Restrict it by task_id or job_id: there may be very many.';
COMMENT ON COLUMN report.jobs.job_id IS 'Id of the job.';
COMMENT ON COLUMN report.jobs.task_id IS 'Task that it is a piece of.';
COMMENT ON COLUMN report.jobs.share IS 'Path of the share that pays.';
COMMENT ON COLUMN report.jobs.state IS 'waiting, ready or leased; in the end finished, failed or cancelled.';
COMMENT ON COLUMN report.jobs.priority IS 'Within its share, higher goes first.';
COMMENT ON COLUMN report.jobs.attempt IS 'Number of the attempt that it is at or ended with, from 1.';
COMMENT ON COLUMN report.jobs.max_attempts IS 'Attempts that it may have.';
COMMENT ON COLUMN report.jobs.index IS 'Which piece of the task it is, from 0.';
COMMENT ON COLUMN report.jobs.retry_of IS 'Job whose piece it tries again; NULL for a first try.';
COMMENT ON COLUMN report.jobs.queue IS 'Queue where it runs; NULL unless it is leased.';
COMMENT ON COLUMN report.jobs.pilot IS 'Pilot that runs it; NULL unless it is leased.';
COMMENT ON COLUMN report.jobs.created_at IS 'When it was made.';
COMMENT ON COLUMN report.jobs.ended_at IS 'When it reached its final state; NULL before.';

CREATE VIEW report.leases AS
    SELECT l.job_id, l.attempt, l.task_id, t.user_name, s.path AS share, q.name AS queue, l.cores,
        (l.units / 1000.0)::numeric(20, 3) AS units, l.priority, l.state, l.pilot, l.node, now() - l.claimed_at AS age,
        l.claimed_at, l.started_at, l.expires_at, l.cpu_s AS cpu_seconds, l.memory_mb, l.cancel_reason
    FROM public.leases l
    JOIN public.shares s ON s.id = l.share_id
    LEFT JOIN public.queues q ON q.id = l.queue_id
    LEFT JOIN public.tasks t ON t.id = l.task_id;
COMMENT ON VIEW report.leases IS 'What runs now: one row a leased job.';
COMMENT ON COLUMN report.leases.job_id IS 'Job that is leased.';
COMMENT ON COLUMN report.leases.attempt IS 'Number of this attempt, from 1.';
COMMENT ON COLUMN report.leases.task_id IS 'Task of the job.';
COMMENT ON COLUMN report.leases.user_name IS 'Whose task it is.';
COMMENT ON COLUMN report.leases.share IS 'Path of the share that is charged.';
COMMENT ON COLUMN report.leases.queue IS 'Queue where it runs.';
COMMENT ON COLUMN report.leases.cores IS 'Cores that it holds.';
COMMENT ON COLUMN report.leases.units IS 'Units that it is charged: cores times the core power of the queue.';
COMMENT ON COLUMN report.leases.priority IS 'Priority of the job.';
COMMENT ON COLUMN report.leases.state IS 'granted, starting, running or draining.';
COMMENT ON COLUMN report.leases.pilot IS 'Pilot that holds the lease.';
COMMENT ON COLUMN report.leases.node IS 'Host of the pilot; empty when it did not say.';
COMMENT ON COLUMN report.leases.age IS 'Time since the claim.';
COMMENT ON COLUMN report.leases.claimed_at IS 'When it was claimed; charging starts here.';
COMMENT ON COLUMN report.leases.started_at IS 'When the payload began; NULL before.';
COMMENT ON COLUMN report.leases.expires_at IS 'When it is lost unless its pilot renews it.';
COMMENT ON COLUMN report.leases.cpu_seconds IS 'CPU time used so far, as the pilot last reported.';
COMMENT ON COLUMN report.leases.memory_mb IS 'Peak memory so far, as the pilot last reported.';
COMMENT ON COLUMN report.leases.cancel_reason IS 'Why the pilot was told to end it; NULL when it was not.';

CREATE VIEW report.attempts AS
    SELECT a.job_id, a.attempt, a.task_id, t.user_name, s.path AS share, q.name AS queue, a.cores,
        (a.units / 1000.0)::numeric(20, 3) AS units, a.priority, a.pilot, a.node, a.outcome, a.exit_code, a.message,
        a.claimed_at, a.started_at, a.ended_at,
        a.cores * extract(epoch FROM a.ended_at - a.claimed_at) AS slot_seconds,
        a.units / 1000.0 * extract(epoch FROM a.ended_at - a.claimed_at) AS unit_seconds,
        a.cpu_s AS cpu_seconds, a.memory_mb, a.outputs
    FROM public.attempts a
    LEFT JOIN public.shares s ON s.id = a.share_id
    LEFT JOIN public.queues q ON q.id = a.queue_id
    LEFT JOIN public.tasks t ON t.id = a.task_id;
COMMENT ON VIEW report.attempts IS 'Every attempt that ended: what each lease cost and what came out. Restrict it by ended_at: days are stored apart.';
COMMENT ON COLUMN report.attempts.job_id IS 'Job that was tried.';
COMMENT ON COLUMN report.attempts.attempt IS 'Number of the attempt, from 1.';
COMMENT ON COLUMN report.attempts.task_id IS 'Task of the job.';
COMMENT ON COLUMN report.attempts.user_name IS 'Whose task it is.';
COMMENT ON COLUMN report.attempts.share IS 'Path of the share that was charged.';
COMMENT ON COLUMN report.attempts.queue IS 'Queue where it ran.';
COMMENT ON COLUMN report.attempts.cores IS 'Cores that it held.';
COMMENT ON COLUMN report.attempts.units IS 'Units that it held: cores times the core power of the queue.';
COMMENT ON COLUMN report.attempts.priority IS 'Priority of the job.';
COMMENT ON COLUMN report.attempts.pilot IS 'Pilot that held the lease.';
COMMENT ON COLUMN report.attempts.node IS 'Host of the pilot; empty when it did not say.';
COMMENT ON COLUMN report.attempts.outcome IS 'finished, failed, lost (the lease ran out), cancelled or revoked (reclaimed, not counted as an attempt).';
COMMENT ON COLUMN report.attempts.exit_code IS 'Exit code of the process, 128 + signal when a signal ended it; NULL when unknown.';
COMMENT ON COLUMN report.attempts.message IS 'What the pilot said about the end.';
COMMENT ON COLUMN report.attempts.claimed_at IS 'When the lease began.';
COMMENT ON COLUMN report.attempts.started_at IS 'When the payload began; NULL when it never did.';
COMMENT ON COLUMN report.attempts.ended_at IS 'When the lease ended.';
COMMENT ON COLUMN report.attempts.slot_seconds IS 'Cores times the seconds from claim to end.';
COMMENT ON COLUMN report.attempts.unit_seconds IS 'Units times the seconds from claim to end: what the share was charged.';
COMMENT ON COLUMN report.attempts.cpu_seconds IS 'CPU time used, as the pilot reported.';
COMMENT ON COLUMN report.attempts.memory_mb IS 'Peak memory in MB, as the pilot reported.';
COMMENT ON COLUMN report.attempts.outputs IS 'What the job made, by name, as the pilot reported.';

-- Charged once, at the end of a lease, and split at the hours that it touched: the pieces add up to the whole to
-- the microsecond. Intervals of an hour are cut in UTC, whatever the reader's time zone is.
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

CREATE VIEW report.share_history AS
    SELECT h.at, h.pool, h.share_id, s.path AS share, s.leaf,
        h.target::numeric(20, 3) AS target_units,
        (h.held / 1000.0)::numeric(20, 3) AS held_units,
        h.ready AS ready_jobs
    FROM public.share_samples h
    JOIN public.shares s ON s.id = h.share_id;
COMMENT ON VIEW report.share_history IS 'Samples of target and held of every share, for plots and for what was promised against what was given.';
COMMENT ON COLUMN report.share_history.at IS 'When the sample was taken.';
COMMENT ON COLUMN report.share_history.pool IS 'Resource group: the queues that are shared out together.';
COMMENT ON COLUMN report.share_history.share_id IS 'Stable id of the share.';
COMMENT ON COLUMN report.share_history.share IS 'Path of the share as it is called now.';
COMMENT ON COLUMN report.share_history.leaf IS 'Leaves hold jobs; inner nodes only divide.';
COMMENT ON COLUMN report.share_history.target_units IS 'Units that the share should have held.';
COMMENT ON COLUMN report.share_history.held_units IS 'Units that it held.';
COMMENT ON COLUMN report.share_history.ready_jobs IS 'Jobs that waited for a slot.';

-- Roles belong to the whole server, so it may exist, may be made by another database at this moment, or may be
-- more than this user may do; none of these is a reason to stop.
-- +goose StatementBegin
DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'divvy_reader') THEN
        BEGIN
            CREATE ROLE divvy_reader NOLOGIN;
            ALTER ROLE divvy_reader SET statement_timeout = '60s';
            COMMENT ON ROLE divvy_reader IS 'May read schema report of divvy databases.';
        EXCEPTION
            WHEN insufficient_privilege THEN
                RAISE NOTICE 'divvy: role divvy_reader was not created: % may not create roles. For SQL reports let an administrator run: CREATE ROLE divvy_reader NOLOGIN; GRANT USAGE ON SCHEMA report TO divvy_reader; GRANT SELECT ON ALL TABLES IN SCHEMA report TO divvy_reader;', current_user;
            WHEN duplicate_object OR unique_violation THEN
                NULL;
        END;
    END IF;
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'divvy_reader') THEN
        GRANT USAGE ON SCHEMA report TO divvy_reader;
        GRANT SELECT ON ALL TABLES IN SCHEMA report TO divvy_reader;
        -- Views that later migrations add.
        ALTER DEFAULT PRIVILEGES IN SCHEMA report GRANT SELECT ON TABLES TO divvy_reader;
    END IF;
END $$;
-- +goose StatementEnd

-- +goose Down
-- The role stays: other databases of the server may use it.
DROP SCHEMA report CASCADE;
