-- What people may read of the past: attempts, usage, waits, fairness. See 00011.

-- +goose Up

-- A function, not a view: PostgreSQL takes what it cannot know, how much is not in the roll-ups yet, for the whole table and more, and
-- then reads the roll-ups that it is joined with in the worst way there is. It runs with the rights of its owner, as views do. There are
-- no numbers behind the last one that was taken, so that it ends at once at rest.
--
-- To plan for hundreds of days anew takes longer than to read what there is, and without knowing the numbers PostgreSQL would read all
-- days instead of their indexes: hence the generic plan without sequential scans.
-- +goose StatementBegin
CREATE FUNCTION report.uncounted() RETURNS SETOF public.attempt_pieces
LANGUAGE plpgsql STABLE PARALLEL SAFE SECURITY DEFINER ROWS 1000 SET search_path = pg_catalog, pg_temp SET jit = off
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET max_parallel_workers_per_gather = 0
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
COMMENT ON VIEW uncounted_pieces IS 'Pieces of attempts that are not in the roll-ups yet.';

-- Next to nothing as a rule, so that the views below add it where its row is.
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
COMMENT ON VIEW uncounted_hours IS 'What usage_hours does not have yet.';

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
COMMENT ON VIEW uncounted_days IS 'What usage_days does not have yet.';

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
COMMENT ON VIEW uncounted_tasks IS 'What usage_tasks does not have yet.';

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
COMMENT ON VIEW uncounted_nodes IS 'What usage_nodes does not have yet.';

CREATE VIEW report.attempts AS
    SELECT a.job_id, a.attempt, a.task_id, t.user_name, s.path AS share, q.name AS queue, a.cores,
        (a.units / 1000.0)::numeric(20, 3) AS units, a.priority, a.pilot, a.node, a.outcome, a.exit_code, a.message,
        a.claimed_at, a.started_at, a.ended_at,
        a.cores * extract(epoch FROM a.ended_at - a.claimed_at) AS slot_seconds,
        a.units / 1000.0 * extract(epoch FROM a.ended_at - a.claimed_at) AS unit_seconds,
        a.cpu_s AS cpu_seconds, a.memory_mb, a.outputs, a.report
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
COMMENT ON COLUMN report.attempts.started_at IS 'When its pilot first said, in a renewal, that it runs: later than the payload began by up to the time between two renewals. NULL: it never said so, as of attempts that ended before their first renewal.';
COMMENT ON COLUMN report.attempts.ended_at IS 'When the lease ended.';
COMMENT ON COLUMN report.attempts.slot_seconds IS 'Cores times the seconds from claim to end.';
COMMENT ON COLUMN report.attempts.unit_seconds IS 'Units times the seconds from claim to end: what the share was charged.';
COMMENT ON COLUMN report.attempts.cpu_seconds IS 'CPU time used, as the pilot reported.';
COMMENT ON COLUMN report.attempts.memory_mb IS 'Peak memory in MB, as the pilot reported.';
COMMENT ON COLUMN report.attempts.outputs IS 'What the job made, by name, as the pilot reported.';
COMMENT ON COLUMN report.attempts.report IS 'What else its pilot reported, by name: of PanDA pilots jobMetrics, pilotErrorCode and the like. NULL: nothing.';

CREATE VIEW report.charges AS
    SELECT p.job_id, p.attempt, p.task_id, t.user_name, s.path AS share, q.name AS queue, p.hour, p.cores,
        (p.units / 1000.0)::numeric(20, 3) AS units, p.slot_seconds, p.unit_seconds, p.outcome, p.ends, p.claimed_at, p.ended_at
    FROM public.attempt_pieces p
    LEFT JOIN public.shares s ON s.id = p.share_id
    LEFT JOIN public.queues q ON q.id = p.queue_id
    LEFT JOIN public.tasks t ON t.id = p.task_id;
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

-- The roll-up and what is not in it yet are joined, not grouped: a month has a million rows, and next to none of them changes.
CREATE VIEW report.usage_hourly AS
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
COMMENT ON VIEW report.usage_hourly IS 'What ended attempts cost, by the hour in which it was used: a row an hour, share, queue and user. A lease that still runs is not in it yet: see report.leases.';
COMMENT ON COLUMN report.usage_hourly.hour IS 'Begin of the hour.';
COMMENT ON COLUMN report.usage_hourly.share IS 'Path of the share that was charged, piece by piece where the job went to another while it ran.';
COMMENT ON COLUMN report.usage_hourly.queue IS 'Queue where it was used.';
COMMENT ON COLUMN report.usage_hourly.user_name IS 'Whose tasks used it.';
COMMENT ON COLUMN report.usage_hourly.slot_seconds IS 'Cores times seconds of the leases within this hour.';
COMMENT ON COLUMN report.usage_hourly.unit_seconds IS 'Units times seconds of the leases within this hour.';
COMMENT ON COLUMN report.usage_hourly.jobs IS 'Attempts that ended in this hour, whatever their outcome.';
COMMENT ON COLUMN report.usage_hourly.failures IS 'Of these, those that failed.';
COMMENT ON COLUMN report.usage_hourly.lost IS 'Of these, those whose lease ran out.';
COMMENT ON COLUMN report.usage_hourly.finished IS 'Of jobs, those that finished.';
COMMENT ON COLUMN report.usage_hourly.cancelled IS 'Of jobs, those that nobody wanted any more.';
COMMENT ON COLUMN report.usage_hourly.revoked IS 'Of jobs, those whose units were reclaimed.';
COMMENT ON COLUMN report.usage_hourly.wasted_slot_seconds IS 'Of slot_seconds, those of attempts that failed, were lost or revoked.';
COMMENT ON COLUMN report.usage_hourly.cpu_seconds IS 'CPU time, as pilots reported, of the attempts that ended in this hour.';
COMMENT ON COLUMN report.usage_hourly.share_id IS 'Stable id of the share, never reused.';

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

CREATE VIEW report.waits AS
    SELECT w.hour, s.path AS share, q.name AS queue, coalesce((public.divvy_wait_bounds())[w.bucket], 0) AS from_seconds,
        (public.divvy_wait_bounds())[w.bucket + 1] AS to_seconds, w.jobs, w.wait_seconds
    FROM public.wait_hours w
    LEFT JOIN public.shares s ON s.id = w.share_id
    LEFT JOIN public.queues q ON q.id = w.queue_id;
COMMENT ON VIEW report.waits IS 'How long jobs waited from the submission of their task to their first claim: a row an hour, share, queue and span of waits.';
COMMENT ON COLUMN report.waits.hour IS 'Begin of the hour in which they were claimed first. They are known when the first attempt is over.';
COMMENT ON COLUMN report.waits.share IS 'Path of the share that the attempt ended under.';
COMMENT ON COLUMN report.waits.queue IS 'Queue where they were claimed.';
COMMENT ON COLUMN report.waits.from_seconds IS 'They waited so long at least.';
COMMENT ON COLUMN report.waits.to_seconds IS 'They waited less than this; NULL: no bound.';
COMMENT ON COLUMN report.waits.jobs IS 'So many of them; those that try a piece again are not among them.';
COMMENT ON COLUMN report.waits.wait_seconds IS 'Sum of their waits.';

CREATE VIEW report.user_waits AS
    SELECT w.hour, w.user_name,
        coalesce((public.divvy_wait_bounds())[w.bucket], 0::double precision) AS from_seconds,
        (public.divvy_wait_bounds())[w.bucket + 1] AS to_seconds,
        w.jobs, w.wait_seconds
    FROM public.user_wait_hours w;
COMMENT ON VIEW report.user_waits IS 'How long jobs waited from the submission of their task to their first claim: a row an hour, user and span of waits.';
COMMENT ON COLUMN report.user_waits.hour IS 'Begin of the hour in which they were claimed first. They are known when the first attempt is over.';
COMMENT ON COLUMN report.user_waits.user_name IS 'Whose tasks they were.';
COMMENT ON COLUMN report.user_waits.from_seconds IS 'They waited so long at least.';
COMMENT ON COLUMN report.user_waits.to_seconds IS 'They waited less than this; NULL: no bound.';
COMMENT ON COLUMN report.user_waits.jobs IS 'So many of them; those that try a piece again are not among them.';
COMMENT ON COLUMN report.user_waits.wait_seconds IS 'Sum of their waits.';

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

CREATE VIEW report.loans AS
    SELECT h.at, h.pool, h.share_id, s.path AS share, s.leaf,
        h.deserved::numeric(20, 3) AS deserved_units,
        (h.held / 1000.0)::numeric(20, 3) AS held_units,
        coalesce(h.lent, 0)::numeric(20, 3) AS lent_units,
        coalesce(h.borrowed, 0)::numeric(20, 3) AS borrowed_units
    FROM public.share_samples h
    JOIN public.shares s ON s.id = h.share_id
    WHERE h.deserved IS NOT NULL;
COMMENT ON VIEW report.loans IS 'Samples of what every share lent and borrowed.';
COMMENT ON COLUMN report.loans.at IS 'When the sample was taken.';
COMMENT ON COLUMN report.loans.pool IS 'Resource group: the queues that are shared out together.';
COMMENT ON COLUMN report.loans.share_id IS 'Stable id of the share.';
COMMENT ON COLUMN report.loans.share IS 'Path of the share as it is called now.';
COMMENT ON COLUMN report.loans.leaf IS 'Leaves hold jobs; inner nodes only divide.';
COMMENT ON COLUMN report.loans.deserved_units IS 'Units that it would have got if every share had wanted everything: what it owns and its part of the rest by weight.';
COMMENT ON COLUMN report.loans.held_units IS 'Units that it held. Beyond deserved_units they are parts of others that these did not want.';
COMMENT ON COLUMN report.loans.lent_units IS 'Units that it owned and siblings used.';
COMMENT ON COLUMN report.loans.borrowed_units IS 'Units that siblings owned and it used.';

CREATE VIEW report.loans_now AS
    SELECT n.at, p.pool, s.id AS share_id, s.path AS share, s.leaf,
        n.deserved::numeric(20, 3) AS deserved_units,
        (n.held / 1000.0)::numeric(20, 3) AS held_units,
        coalesce(n.lent, 0)::numeric(20, 3) AS lent_units,
        coalesce(n.borrowed, 0)::numeric(20, 3) AS borrowed_units
    FROM public.shares s
    CROSS JOIN (SELECT DISTINCT q.pool FROM public.queues q WHERE q.removed_in IS NULL) p
    CROSS JOIN LATERAL (
        SELECT h.at, h.deserved, h.held, h.lent, h.borrowed FROM public.share_samples h
        WHERE h.share_id = s.id AND h.pool = p.pool
        ORDER BY h.at DESC LIMIT 1
    ) n
    WHERE s.removed_in IS NULL AND n.deserved IS NOT NULL;
COMMENT ON VIEW report.loans_now IS 'What every share of the tree in force lends and borrows, by the newest sample.';
COMMENT ON COLUMN report.loans_now.at IS 'When the sample was taken.';
COMMENT ON COLUMN report.loans_now.pool IS 'Resource group: the queues that are shared out together.';
COMMENT ON COLUMN report.loans_now.share_id IS 'Stable id of the share.';
COMMENT ON COLUMN report.loans_now.share IS 'Path of the share.';
COMMENT ON COLUMN report.loans_now.leaf IS 'Leaves hold jobs; inner nodes only divide.';
COMMENT ON COLUMN report.loans_now.deserved_units IS 'Units that it would get if every share wanted everything: what it owns and its part of the rest by weight.';
COMMENT ON COLUMN report.loans_now.held_units IS 'Units that it holds. Beyond deserved_units they are parts of others that these do not want.';
COMMENT ON COLUMN report.loans_now.lent_units IS 'Units that it owns and siblings use.';
COMMENT ON COLUMN report.loans_now.borrowed_units IS 'Units that siblings own and it uses.';

CREATE VIEW report.share_fairness AS
    SELECT f.hour, f.pool, s.path AS share, s.leaf, f.seconds, f.target_seconds AS target_unit_seconds, f.held_seconds AS held_unit_seconds,
        f.missed_seconds AS missed_unit_seconds, f.starved_seconds, f.busy_seconds, f.share_id
    FROM public.fairness_hours f
    LEFT JOIN public.shares s ON s.id = f.share_id;
COMMENT ON VIEW report.share_fairness IS 'What a share was promised and given in an hour, of each pool, by the samples: a row an hour, pool and share. Hours that are over.';
COMMENT ON COLUMN report.share_fairness.hour IS 'Begin of the hour.';
COMMENT ON COLUMN report.share_fairness.pool IS 'Resource group: the queues that are shared out together.';
COMMENT ON COLUMN report.share_fairness.share IS 'Path of the share.';
COMMENT ON COLUMN report.share_fairness.leaf IS 'Leaves hold jobs; inner nodes only divide.';
COMMENT ON COLUMN report.share_fairness.seconds IS 'Seconds of the hour of which there are samples.';
COMMENT ON COLUMN report.share_fairness.target_unit_seconds IS 'What it should have held: units times seconds.';
COMMENT ON COLUMN report.share_fairness.held_unit_seconds IS 'What it held.';
COMMENT ON COLUMN report.share_fairness.missed_unit_seconds IS 'What it held too little while it had ready jobs.';
COMMENT ON COLUMN report.share_fairness.starved_seconds IS 'Seconds in which it had ready jobs and a target of a unit or more, and held nothing while others of its pool did.';
COMMENT ON COLUMN report.share_fairness.busy_seconds IS 'Seconds in which it had ready jobs or held something.';
COMMENT ON COLUMN report.share_fairness.share_id IS 'Stable id of the share, never reused.';

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
COMMENT ON VIEW report.fairness IS 'How fair an hour was, of each pool: over the leaves that had a target and jobs.';
COMMENT ON COLUMN report.fairness.hour IS 'Begin of the hour.';
COMMENT ON COLUMN report.fairness.pool IS 'Resource group.';
COMMENT ON COLUMN report.fairness.shares IS 'Leaves that had a target and jobs.';
COMMENT ON COLUMN report.fairness.jain IS 'Jain''s index of held / target: 1 = all had the same part of what they were promised, 1/shares = one had all.';
COMMENT ON COLUMN report.fairness.largest_deviation_units IS 'The largest distance of held from target, in the mean of the hour.';
COMMENT ON COLUMN report.fairness.furthest_share IS 'Path of the share that had it.';
COMMENT ON COLUMN report.fairness.missed_unit_seconds IS 'What leaves held too little while they had ready jobs, in all.';
COMMENT ON COLUMN report.fairness.starved_shares IS 'Leaves that had ready jobs and a target of a unit or more, and held nothing for some time while others did.';

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

CREATE VIEW report.about AS
    SELECT 4 AS version, u.done AS counted_up_to, u.at AS counted_at, (u.past IS NULL) AS complete, u.rated AS rated_up_to
    FROM public.usage_state u;
COMMENT ON VIEW report.about IS 'One row about this schema itself.';
COMMENT ON COLUMN report.about.version IS 'Rises when views or columns are added. None is ever taken away or changed.';
COMMENT ON COLUMN report.about.counted_up_to IS 'Number of the last attempt that is in the roll-ups. What came after it the usage views read one by one.';
COMMENT ON COLUMN report.about.counted_at IS 'When that was.';
COMMENT ON COLUMN report.about.complete IS 'Whether the usage views read all attempts that ended out of the roll-ups, but for the newest.';
COMMENT ON COLUMN report.about.rated_up_to IS 'Hours before this one are in share_fairness and fairness; NULL: none is.';

-- +goose Down
DROP VIEW report.about, report.queue_health, report.fairness, report.share_fairness, report.loans_now, report.loans, report.share_history,
    report.user_waits, report.waits, report.node_usage, report.task_usage, report.usage_daily, report.usage_hourly, report.charges,
    report.attempts, uncounted_nodes, uncounted_tasks, uncounted_days, uncounted_hours, uncounted_pieces;
DROP FUNCTION report.uncounted;
