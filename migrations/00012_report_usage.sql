-- What people may read of the past: attempts, usage, waits, fairness. See 00011.

-- +goose Up

-- What costs a look at another table is a subquery of its column: whoever does not ask for the column does not pay for it. Seconds are
-- those between begin and end, each cut to milliseconds, so that the usage views are sums of these to the last digit.
CREATE VIEW report.attempts AS
    SELECT a.job AS job_id, a.attempt, a.task AS task_id, t.user_name, s.path AS share, q.name AS queue, h.cores,
        (a.units / 1000.0)::numeric(20, 3) AS units,
        (SELECT b.priority FROM public.job_blocks b WHERE b.low <= a.job ORDER BY b.low DESC LIMIT 1) AS priority,
        a.pilot, a.node, CASE a.outcome WHEN 'f' THEN 'finished' WHEN 'x' THEN 'failed' WHEN 'l' THEN 'lost' WHEN 'c' THEN 'cancelled' ELSE 'revoked' END AS outcome,
        CASE WHEN a.outcome = 'f' OR a.exit_code <> 0 THEN a.exit_code END AS exit_code,
        coalesce((SELECT x.reason FROM public.attempt_texts x
            WHERE x.job_id = a.job AND x.attempt = a.attempt AND x.ended_on = (a.ended_at AT TIME ZONE 'UTC')::date), '') AS message,
        a.granted_at AS claimed_at, CASE WHEN a.start_delay_ms >= 0 THEN a.granted_at + a.start_delay_ms * interval '1 ms' END AS started_at, a.ended_at,
        h.cores * (floor(extract(epoch FROM greatest(a.ended_at, a.granted_at)) * 1000) - floor(extract(epoch FROM a.granted_at) * 1000)) * 0.001 AS slot_seconds,
        a.units * (floor(extract(epoch FROM greatest(a.ended_at, a.granted_at)) * 1000) - floor(extract(epoch FROM a.granted_at) * 1000)) * 0.000001 AS unit_seconds,
        a.cpu_ms * 0.001::double precision AS cpu_seconds, a.memory_mb::bigint AS memory_mb,
        (SELECT x.outputs FROM public.attempt_texts x
            WHERE x.job_id = a.job AND x.attempt = a.attempt AND x.ended_on = (a.ended_at AT TIME ZONE 'UTC')::date) AS outputs,
        (SELECT x.report FROM public.attempt_texts x
            WHERE x.job_id = a.job AND x.attempt = a.attempt AND x.ended_on = (a.ended_at AT TIME ZONE 'UTC')::date) AS report
    FROM public.history a
    LEFT JOIN public.shapes h ON h.id = a.shape
    LEFT JOIN public.shares s ON s.id = a.share
    LEFT JOIN public.queues q ON q.id = a.queue
    LEFT JOIN public.tasks t ON t.id = a.task;
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
COMMENT ON COLUMN report.attempts.outcome IS 'finished, failed, lost (the lease ran out), cancelled or revoked (reclaimed, or given back by its pilot: not counted as an attempt).';
COMMENT ON COLUMN report.attempts.exit_code IS 'Exit code of the process, 128 + signal when a signal ended it; NULL when unknown, and of a failed one that said 0.';
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
    SELECT a.job AS job_id, a.attempt, a.task AS task_id, t.user_name, s.path AS share, q.name AS queue, a.hour, a.cores,
        (a.units / 1000.0)::numeric(20, 3) AS units, a.cores * a.ms * 0.001 AS slot_seconds, a.units * a.ms * 0.000001 AS unit_seconds,
        CASE a.outcome WHEN 'f' THEN 'finished' WHEN 'x' THEN 'failed' WHEN 'l' THEN 'lost' WHEN 'c' THEN 'cancelled' ELSE 'revoked' END AS outcome, a.ends, a.granted_at AS claimed_at, a.ended_at
    FROM public.attempt_pieces a
    LEFT JOIN public.shares s ON s.id = a.share
    LEFT JOIN public.queues q ON q.id = a.queue
    LEFT JOIN public.tasks t ON t.id = a.task;
COMMENT ON VIEW report.charges IS 'How every ended attempt is split: a row an attempt and hour. What the usage views are the sums of. Restrict it by ended_at: days are stored apart.';
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

CREATE VIEW report.usage_hourly AS
    SELECT u.hour, s.path AS share, q.name AS queue, nullif(u.user_name, '') AS user_name,
        u.slot_ms * 0.001 AS slot_seconds, u.unit_ms * 0.000001 AS unit_seconds,
        u.finished + u.failed + u.lost + u.cancelled + u.returned AS jobs, u.failed AS failures, u.lost,
        u.finished, u.cancelled, u.returned AS revoked, u.wasted_slot_ms * 0.001 AS wasted_slot_seconds,
        u.cpu_ms * 0.001 AS cpu_seconds, u.share AS share_id
    FROM public.hour_usage u
    LEFT JOIN public.shares s ON s.id = u.share
    LEFT JOIN public.queues q ON q.id = u.queue;
COMMENT ON VIEW report.usage_hourly IS 'What ended attempts cost, by the hour in which it was used: a row an hour, share, queue and user. A lease that still runs is not in it yet: see report.leases.';
COMMENT ON COLUMN report.usage_hourly.hour IS 'Begin of the hour.';
COMMENT ON COLUMN report.usage_hourly.share IS 'Path of the share that was charged.';
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
    SELECT (u.day AT TIME ZONE 'UTC')::date AS day, s.path AS share, q.name AS queue, nullif(u.user_name, '') AS user_name,
        u.slot_ms * 0.001 AS slot_seconds, u.unit_ms * 0.000001 AS unit_seconds,
        u.finished + u.failed + u.lost + u.cancelled + u.returned AS jobs, u.failed AS failures, u.lost,
        u.finished, u.cancelled, u.returned AS revoked, u.wasted_slot_ms * 0.001 AS wasted_slot_seconds,
        u.cpu_ms * 0.001 AS cpu_seconds, u.share AS share_id
    FROM public.day_usage u
    LEFT JOIN public.shares s ON s.id = u.share
    LEFT JOIN public.queues q ON q.id = u.queue;
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
    SELECT (u.day AT TIME ZONE 'UTC')::date AS day, u.task AS task_id, t.name, t.user_name, s.path AS share,
        u.slot_ms * 0.001 AS slot_seconds, u.unit_ms * 0.000001 AS unit_seconds,
        u.finished + u.failed + u.lost + u.cancelled + u.returned AS jobs, u.failed AS failures, u.lost,
        u.finished, u.cancelled, u.returned AS revoked, u.wasted_slot_ms * 0.001 AS wasted_slot_seconds,
        u.cpu_ms * 0.001 AS cpu_seconds, u.share AS share_id
    FROM public.task_usage u
    LEFT JOIN public.shares s ON s.id = u.share
    LEFT JOIN public.tasks t ON t.id = u.task;
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

-- The sums, and attempts that ended since they were made: a minute or an hour of them.
CREATE VIEW report.node_usage AS
    SELECT u.day, q.name AS queue, u.node, u.slot_seconds, u.wasted_slot_seconds, u.jobs, u.failures, u.lost, u.finished, u.cancelled, u.revoked
    FROM (
        SELECT day, queue, node, sum(slot_ms) * 0.001 AS slot_seconds, sum(wasted_slot_ms) * 0.001 AS wasted_slot_seconds,
            sum(finished + failed + lost + cancelled + returned)::bigint AS jobs, sum(failed)::bigint AS failures, sum(lost)::bigint AS lost,
            sum(finished)::bigint AS finished, sum(cancelled)::bigint AS cancelled, sum(returned)::bigint AS revoked
        FROM (
            SELECT (day AT TIME ZONE 'UTC')::date AS day, queue, node, slot_ms, wasted_slot_ms, finished, failed, lost, cancelled, returned FROM public.node_usage
            UNION ALL
            SELECT (greatest(a.ended_at, a.granted_at) AT TIME ZONE 'UTC')::date, a.queue, a.node, h.cores * (floor(extract(epoch FROM greatest(a.ended_at, a.granted_at)) * 1000) - floor(extract(epoch FROM a.granted_at) * 1000)),
                CASE WHEN a.outcome IN ('x', 'l', 'r') THEN h.cores * (floor(extract(epoch FROM greatest(a.ended_at, a.granted_at)) * 1000) - floor(extract(epoch FROM a.granted_at) * 1000)) ELSE 0 END,
                (a.outcome = 'f')::int, (a.outcome = 'x')::int, (a.outcome = 'l')::int, (a.outcome = 'c')::int, (a.outcome = 'r')::int
            FROM public.history a
            JOIN public.shapes h ON h.id = a.shape
            WHERE a.ended_at >= (SELECT r.at FROM public.rolled r)
        ) both_parts
        GROUP BY day, queue, node
    ) u
    LEFT JOIN public.queues q ON q.id = u.queue;
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
    WITH held AS (
        SELECT c.queue, sum(c.held) AS jobs, sum(c.held * h.cores) AS cores, sum(c.held_units) AS units
        FROM public.share_counts c JOIN public.shapes h ON h.id = c.shape
        WHERE c.queue <> 0
        GROUP BY c.queue
    ), used AS (
        SELECT queue, sum(finished + failed + lost + cancelled + returned) AS attempts, sum(failed) AS failed, sum(lost) AS lost,
            sum(slot_ms) * 0.001 AS slot_seconds, sum(wasted_slot_ms) * 0.001 AS wasted
        FROM public.hour_usage
        WHERE hour >= date_trunc('hour', now(), 'UTC') - interval '23 hours'
        GROUP BY queue
    )
    SELECT q.name AS queue, q.pool, q.state, q.slots, q.core_power_milli / 1000.0 AS core_power,
        coalesce(h.jobs, 0)::bigint AS held_jobs, coalesce(h.cores, 0)::bigint AS held_cores, (coalesce(h.units, 0) / 1000)::numeric(20, 3) AS held_units,
        coalesce((p.entry ->> 'is')::boolean, false) AS has_pilots,
        b.since AS black_hole_since,
        coalesce(u.attempts, 0)::bigint AS attempts, coalesce(u.failed, 0)::bigint AS failures, coalesce(u.lost, 0)::bigint AS lost,
        round(100.0 * (u.failed + u.lost) / nullif(u.attempts, 0), 1) AS bad_percent,
        coalesce(u.slot_seconds, 0) AS slot_seconds, coalesce(u.wasted, 0) AS wasted_slot_seconds
    FROM public.queues q
    LEFT JOIN held h ON h.queue = q.id
    LEFT JOIN used u ON u.queue = q.id
    LEFT JOIN public.latest p ON p.kind = 'p' AND p.key = q.id
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
    SELECT 5 AS version, f.seq AS counted_up_to, f.at AS counted_at, true AS complete,
        (SELECT max(r.hour) + interval '1 hour' FROM public.fairness_hours r) AS rated_up_to
    FROM public.folded f;
COMMENT ON VIEW report.about IS 'One row about this schema itself.';
COMMENT ON COLUMN report.about.version IS 'Rises when views or columns change.';
COMMENT ON COLUMN report.about.counted_up_to IS 'Number of the last batch of the log that the views show; see report.freshness.';
COMMENT ON COLUMN report.about.counted_at IS 'When that was appended.';
COMMENT ON COLUMN report.about.complete IS 'Always: the usage views have all attempts up to there.';
COMMENT ON COLUMN report.about.rated_up_to IS 'Hours before this one are in share_fairness and fairness; NULL: none is.';

-- +goose Down
DROP VIEW report.about, report.queue_health, report.fairness, report.share_fairness, report.loans_now, report.loans, report.share_history,
    report.user_waits, report.waits, report.node_usage, report.task_usage, report.usage_daily, report.usage_hourly, report.charges,
    report.attempts;
