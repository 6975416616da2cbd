-- What people may read with SQL: schema report, role divvy_reader. Everything else in the database may change from one release to the
-- next; these views only gain columns.
--
-- What is folded out of the log is a second or two old; report.freshness says how old. The views run with the rights of their owner, so that a reader needs no right on any table. Units are units here (a core times the
-- core power of its queue), not the thousandths that the tables count. This file has what is there now and what was decided; 00012 has
-- usage and history.

-- +goose Up
CREATE SCHEMA report;
COMMENT ON SCHEMA report IS 'Stable views for reports and dashboards, described in docs/reporting.md; readable by role divvy_reader.';

-- Roles belong to the whole server, so the role may exist, may be made by another database at this moment, or may be more than this
-- user may make; none of these is a reason to stop.
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
        -- Every view, those of later migrations too.
        ALTER DEFAULT PRIVILEGES IN SCHEMA report GRANT SELECT ON TABLES TO divvy_reader;
    END IF;
END $$;
-- +goose StatementEnd

CREATE VIEW report.versions AS
    SELECT v.version, v.applied_at, v.applied_by, v.note, v.rollback_of,
        (SELECT count(*) FROM jsonb_object_keys(v.share_ids)) AS shares, (SELECT count(*) FROM jsonb_object_keys(v.queue_ids)) AS queues,
        lead(v.applied_at) OVER (ORDER BY v.version) AS replaced_at
    FROM public.site_versions v;
COMMENT ON VIEW report.versions IS 'Every version of the site file; the largest is in force.';
COMMENT ON COLUMN report.versions.version IS 'Number.';
COMMENT ON COLUMN report.versions.applied_at IS 'Since when it is in force.';
COMMENT ON COLUMN report.versions.applied_by IS 'Who applied it.';
COMMENT ON COLUMN report.versions.note IS 'The note that was given with it.';
COMMENT ON COLUMN report.versions.rollback_of IS 'Version that it brought back; NULL: it is no rollback.';
COMMENT ON COLUMN report.versions.shares IS 'Nodes of its tree.';
COMMENT ON COLUMN report.versions.queues IS 'Its queues.';
COMMENT ON COLUMN report.versions.replaced_at IS 'Until when it was in force; NULL: it is.';

CREATE VIEW report.version_shares AS
    SELECT v.version, k.key AS share, k.value::int AS share_id
    FROM public.site_versions v
    CROSS JOIN LATERAL jsonb_each_text(v.share_ids) AS k;
COMMENT ON VIEW report.version_shares IS 'The share tree of every version: a row a version and node.';
COMMENT ON COLUMN report.version_shares.version IS 'Number of the version.';
COMMENT ON COLUMN report.version_shares.share IS 'Path of the node as this version has it.';
COMMENT ON COLUMN report.version_shares.share_id IS 'Stable id of the share, never reused.';

-- An inner node has the sums of its leaves. Jobs that may not run yet are few ranges of ids as a rule, also of a task of millions.
CREATE VIEW report.shares_now AS
    WITH RECURSIVE upwards (share_id, node_id) AS (
        SELECT id, id FROM public.shares
        UNION ALL
        SELECT u.share_id, s.parent_id FROM upwards u JOIN public.shares s ON s.id = u.node_id WHERE s.parent_id IS NOT NULL
    ), leaves AS (
        SELECT share, sum(waiting) AS waiting, sum(ready) AS ready, sum(held) AS held, sum(held_units) AS held_units
        FROM (
            SELECT share, 0 AS waiting, ready, held, held_units FROM public.share_counts
            UNION ALL
            SELECT share, high - low + 1, 0, 0, 0 FROM public.idle_ranges WHERE state <> 'r'
        ) c
        GROUP BY share
    ), sums AS (
        SELECT u.node_id, sum(m.waiting) AS waiting, sum(m.ready) AS ready, sum(m.held) AS held, sum(m.held_units) AS held_units
        FROM leaves m
        JOIN upwards u ON u.share_id = m.share
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
    FROM public.counted_tasks t
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

CREATE VIEW report.deadlines AS
    SELECT d.task_id, t.name, t.user_name, s.path AS share, t.state, d.deadline, d.eta, d.late_risk, d.per_s * 3600 AS jobs_per_hour,
        greatest(t.n_jobs - t.n_finished - t.n_failed - t.n_cancelled, 0) AS jobs_left, d.boost, d.boosted, d.seen_at
    FROM public.task_deadlines d
    JOIN public.counted_tasks t ON t.id = d.task_id
    LEFT JOIN public.shares s ON s.id = t.share_id;
COMMENT ON VIEW report.deadlines IS 'Tasks with a deadline, and when they will be over at the rate at which their jobs end. Looked at every half minute.';
COMMENT ON COLUMN report.deadlines.task_id IS 'Id of the task.';
COMMENT ON COLUMN report.deadlines.name IS 'Name that the user gave it; not unique.';
COMMENT ON COLUMN report.deadlines.user_name IS 'Whose task it is.';
COMMENT ON COLUMN report.deadlines.share IS 'Path of the share that pays; NULL while none is decided.';
COMMENT ON COLUMN report.deadlines.state IS 'State of the task.';
COMMENT ON COLUMN report.deadlines.deadline IS 'When all of it should be over.';
COMMENT ON COLUMN report.deadlines.eta IS 'When it will be, by jobs_per_hour; NULL: nothing of it has ended yet, or it is over.';
COMMENT ON COLUMN report.deadlines.late_risk IS 'unknown: no eta. low, high: eta before or after the deadline. late: that has passed. In the end met or missed.';
COMMENT ON COLUMN report.deadlines.jobs_per_hour IS 'Jobs of it that end an hour, lately.';
COMMENT ON COLUMN report.deadlines.jobs_left IS 'Jobs that have not ended, pieces that are not jobs yet among them.';
COMMENT ON COLUMN report.deadlines.boost IS 'Priority that it gains when it is likely to be late.';
COMMENT ON COLUMN report.deadlines.boosted IS 'Priority that it has gained so.';
COMMENT ON COLUMN report.deadlines.seen_at IS 'When that was looked at.';

-- Where a job stands: held, else in a range of those without a lease, else over; what nothing knows was made a moment ago, or so
-- long ago that its history is dropped, and is not listed. Days of history before it was made are not looked at.
CREATE VIEW report.jobs AS
    SELECT j.id AS job_id, b.task_id, s.path AS share,
        w.state,
        b.priority,
        coalesce(h.attempt, r.attempt, y.attempt + (o.state IS NOT DISTINCT FROM 'c')::int, 1) AS attempt,
        b.max_attempts + (SELECT count(*)::int FROM public.history v WHERE v.job = j.id AND v.ended_at >= b.made_at AND v.outcome = 'r') AS max_attempts,
        j.idx AS index, j.retry_of, q.name AS queue, h.pilot,
        b.made_at AS created_at,
        CASE WHEN w.state IN ('finished', 'failed', 'cancelled') THEN coalesce(o.at, y.ended_at) END AS ended_at
    FROM public.jobs j
    CROSS JOIN LATERAL (SELECT k.* FROM public.job_blocks k WHERE k.low <= j.id ORDER BY k.low DESC LIMIT 1) b
    LEFT JOIN public.leases_now h ON h.job = j.id
    LEFT JOIN LATERAL (
        SELECT i.* FROM (SELECT n.* FROM public.idle_ranges n WHERE n.high >= j.id ORDER BY n.high LIMIT 1) i WHERE i.low <= j.id AND h.job IS NULL
    ) r ON true
    LEFT JOIN LATERAL (
        SELECT i.* FROM (SELECT n.* FROM public.over_ranges n WHERE n.high >= j.id ORDER BY n.high LIMIT 1) i
        WHERE i.low <= j.id AND h.job IS NULL AND r.high IS NULL
    ) o ON true
    LEFT JOIN LATERAL (
        SELECT a.attempt, a.share, a.state, a.ended_at FROM public.history a
        WHERE a.job = j.id AND a.ended_at >= b.made_at AND h.job IS NULL AND r.high IS NULL
        ORDER BY a.attempt DESC LIMIT 1
    ) y ON true
    CROSS JOIN LATERAL (
        SELECT CASE
            WHEN h.job IS NOT NULL THEN 'leased'
            WHEN r.state = 'r' THEN 'ready'
            WHEN r.state IS NOT NULL THEN 'waiting'
            WHEN coalesce(o.state, y.state) = 'f' THEN 'finished'
            WHEN coalesce(o.state, y.state) = 'x' THEN 'failed'
            WHEN coalesce(o.state, y.state) = 'c' THEN 'cancelled'
            WHEN EXISTS (SELECT FROM public.paused_tasks p WHERE p.task = b.task_id) THEN 'waiting'
            WHEN b.made_at > (SELECT f.at FROM public.folded f) - interval '1 hour' THEN 'ready'
        END AS state
    ) w
    LEFT JOIN public.shares s ON s.id = coalesce(h.share, r.share, y.share, b.share_id)
    LEFT JOIN public.queues q ON q.id = h.queue
    WHERE w.state IS NOT NULL;
COMMENT ON VIEW report.jobs IS 'Every job, live or ended. Restrict it by job_id: there may be very many. Those of a task are found sooner in report.task_jobs.';
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

CREATE VIEW report.task_jobs AS
    SELECT j.id AS job_id, b.task_id, s.path AS share,
        w.state,
        b.priority,
        coalesce(h.attempt, r.attempt, y.attempt + (o.state IS NOT DISTINCT FROM 'c')::int, 1) AS attempt,
        b.max_attempts + (SELECT count(*)::int FROM public.history v WHERE v.job = j.id AND v.ended_at >= b.made_at AND v.outcome = 'r') AS max_attempts,
        j.idx AS index, j.retry_of, q.name AS queue, h.pilot,
        b.made_at AS created_at,
        CASE WHEN w.state IN ('finished', 'failed', 'cancelled') THEN coalesce(o.at, y.ended_at) END AS ended_at
    FROM public.job_blocks b
    CROSS JOIN LATERAL (SELECT i.* FROM public.jobs i WHERE i.id >= b.low AND i.id <= b.high ORDER BY i.id) j
    LEFT JOIN public.leases_now h ON h.job = j.id
    LEFT JOIN LATERAL (
        SELECT i.* FROM (SELECT n.* FROM public.idle_ranges n WHERE n.high >= j.id ORDER BY n.high LIMIT 1) i WHERE i.low <= j.id AND h.job IS NULL
    ) r ON true
    LEFT JOIN LATERAL (
        SELECT i.* FROM (SELECT n.* FROM public.over_ranges n WHERE n.high >= j.id ORDER BY n.high LIMIT 1) i
        WHERE i.low <= j.id AND h.job IS NULL AND r.high IS NULL
    ) o ON true
    LEFT JOIN LATERAL (
        SELECT a.attempt, a.share, a.state, a.ended_at FROM public.history a
        WHERE a.job = j.id AND a.ended_at >= b.made_at AND h.job IS NULL AND r.high IS NULL
        ORDER BY a.attempt DESC LIMIT 1
    ) y ON true
    CROSS JOIN LATERAL (
        SELECT CASE
            WHEN h.job IS NOT NULL THEN 'leased'
            WHEN r.state = 'r' THEN 'ready'
            WHEN r.state IS NOT NULL THEN 'waiting'
            WHEN coalesce(o.state, y.state) = 'f' THEN 'finished'
            WHEN coalesce(o.state, y.state) = 'x' THEN 'failed'
            WHEN coalesce(o.state, y.state) = 'c' THEN 'cancelled'
            WHEN EXISTS (SELECT FROM public.paused_tasks p WHERE p.task = b.task_id) THEN 'waiting'
            WHEN b.made_at > (SELECT f.at FROM public.folded f) - interval '1 hour' THEN 'ready'
        END AS state
    ) w
    LEFT JOIN public.shares s ON s.id = coalesce(h.share, r.share, y.share, b.share_id)
    LEFT JOIN public.queues q ON q.id = h.queue
    WHERE w.state IS NOT NULL;
COMMENT ON VIEW report.task_jobs IS 'Every job, live or ended, as report.jobs, found by its task. Restrict it by task_id.';
COMMENT ON COLUMN report.task_jobs.job_id IS 'Id of the job.';
COMMENT ON COLUMN report.task_jobs.task_id IS 'Task that it is a piece of.';
COMMENT ON COLUMN report.task_jobs.share IS 'Path of the share that pays.';
COMMENT ON COLUMN report.task_jobs.state IS 'waiting, ready or leased; in the end finished, failed or cancelled.';
COMMENT ON COLUMN report.task_jobs.priority IS 'Within its share, higher goes first.';
COMMENT ON COLUMN report.task_jobs.attempt IS 'Number of the attempt that it is at or ended with, from 1.';
COMMENT ON COLUMN report.task_jobs.max_attempts IS 'Attempts that it may have.';
COMMENT ON COLUMN report.task_jobs.index IS 'Which piece of the task it is, from 0.';
COMMENT ON COLUMN report.task_jobs.retry_of IS 'Job whose piece it tries again; NULL for a first try.';
COMMENT ON COLUMN report.task_jobs.queue IS 'Queue where it runs; NULL unless it is leased.';
COMMENT ON COLUMN report.task_jobs.pilot IS 'Pilot that runs it; NULL unless it is leased.';
COMMENT ON COLUMN report.task_jobs.created_at IS 'When it was made.';
COMMENT ON COLUMN report.task_jobs.ended_at IS 'When it reached its final state; NULL before.';

-- When a lease runs out, and what its pilot said last of its use, only the daemon knows that decides.
CREATE VIEW report.leases AS
    SELECT l.job AS job_id, l.attempt, l.task AS task_id, t.user_name, s.path AS share, q.name AS queue, h.cores,
        (l.units / 1000.0)::numeric(20, 3) AS units,
        (SELECT b.priority FROM public.job_blocks b WHERE b.low <= l.job ORDER BY b.low DESC LIMIT 1) AS priority,
        CASE WHEN l.start_delay_ms < 0 THEN 'granted' ELSE 'running' END AS state, l.pilot, l.node, now() - l.granted_at AS age,
        l.granted_at AS claimed_at, CASE WHEN l.start_delay_ms >= 0 THEN l.granted_at + l.start_delay_ms * interval '1 ms' END AS started_at,
        nullif(l.reason, '') AS cancel_reason
    FROM public.leases_now l
    JOIN public.shapes h ON h.id = l.shape
    LEFT JOIN public.shares s ON s.id = l.share
    LEFT JOIN public.queues q ON q.id = l.queue
    LEFT JOIN public.tasks t ON t.id = l.task;
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
COMMENT ON COLUMN report.leases.state IS 'granted, or running from when its pilot said so.';
COMMENT ON COLUMN report.leases.pilot IS 'Pilot that holds the lease.';
COMMENT ON COLUMN report.leases.node IS 'Host of the pilot; empty when it did not say.';
COMMENT ON COLUMN report.leases.age IS 'Time since the claim.';
COMMENT ON COLUMN report.leases.claimed_at IS 'When it was claimed; charging starts here.';
COMMENT ON COLUMN report.leases.started_at IS 'When its pilot first said, in a renewal, that it runs: later than the payload began by up to the time between two renewals. NULL: it has not said so.';
COMMENT ON COLUMN report.leases.cancel_reason IS 'Why the pilot was told to end it; NULL when it was not.';

CREATE VIEW report.reclaims AS
    SELECT r.job_id, r.attempt, r.pool, c.path AS claimer, v.path AS victim,
        (r.units / 1000.0)::numeric(20, 3) AS units, r.grace_s AS grace_seconds,
        CASE WHEN r.closed_at IS NOT NULL THEN coalesce(r.outcome, 'unknown') ELSE 'ordered' END AS state,
        r.ordered_at, r.closed_at, r.lost AS lost_unit_seconds, l.pilot
    FROM public.reclaims r
    LEFT JOIN public.held l ON l.job = r.job_id AND l.nonce = r.nonce AND r.closed_at IS NULL
    LEFT JOIN public.shares c ON c.id = r.claimer_id
    LEFT JOIN public.shares v ON v.id = r.victim_id;
COMMENT ON VIEW report.reclaims IS 'Orders to running jobs to give their units back to a share that is below its target; kept for a week.';
COMMENT ON COLUMN report.reclaims.job_id IS 'Job that was to end. It is ready again afterwards.';
COMMENT ON COLUMN report.reclaims.attempt IS 'Its attempt.';
COMMENT ON COLUMN report.reclaims.pool IS 'Resource group.';
COMMENT ON COLUMN report.reclaims.claimer IS 'Share that asked for the units.';
COMMENT ON COLUMN report.reclaims.victim IS 'Share that the job belongs to.';
COMMENT ON COLUMN report.reclaims.units IS 'Units that the job held.';
COMMENT ON COLUMN report.reclaims.grace_seconds IS 'Seconds that the pilot has from when a renewal told it.';
COMMENT ON COLUMN report.reclaims.state IS 'ordered; then the outcome of the attempt: revoked, or finished, failed, lost, cancelled when that came first. unknown: nothing is recorded.';
COMMENT ON COLUMN report.reclaims.ordered_at IS 'When it was decided.';
COMMENT ON COLUMN report.reclaims.closed_at IS 'When the lease was seen to be gone; NULL while the order is open.';
COMMENT ON COLUMN report.reclaims.lost_unit_seconds IS 'Units times seconds that a revoked attempt had held: work that is done again.';
COMMENT ON COLUMN report.reclaims.pilot IS 'Pilot that is to end the job, of an open order.';

-- Jobs that do not hold anything are at no queue.
CREATE VIEW report.resource_holders AS
    WITH asking AS (
        SELECT s.id AS shape, s.label, s.sharing_id, e.key AS ref, e.value::bigint AS units
        FROM public.shapes s
        CROSS JOIN LATERAL jsonb_each_text(s.resources) e
        WHERE s.resources <> '{}'
    ), uses AS (
        SELECT a.ref, a.label, a.sharing_id, c.share, c.queue, c.ready AS ready_jobs, c.held AS held_jobs, 0 AS held_claims, a.units
        FROM public.share_counts c
        JOIN asking a USING (shape)
        UNION ALL
        SELECT e.key, c.label, c.sharing_id, c.share, c.queue, 0, 0, 1, e.value::bigint
        FROM public.claims c
        CROSS JOIN LATERAL jsonb_each_text(CASE jsonb_typeof(c.template -> 'Resources') WHEN 'object' THEN c.template -> 'Resources' ELSE '{}' END) e
        WHERE c.state IN ('bound', 'draining') AND c.task <> 0
    ), listed AS (
        SELECT split_part(u.ref, ':', 1) AS resource, CASE WHEN strpos(u.ref, ':') > 0 THEN substr(u.ref, strpos(u.ref, ':') + 1) END AS key,
            q.name AS queue, coalesce(r.split_by, 'user') AS split_by, u.ready_jobs, u.held_jobs, u.held_claims, u.units,
            CASE coalesce(r.split_by, 'user') WHEN 'share' THEN sh.path WHEN 'label' THEN u.label ELSE u.sharing_id END AS sharing_id
        FROM uses u
        LEFT JOIN public.site_resources r ON r.name = split_part(u.ref, ':', 1) AND r.version = (SELECT max(version) FROM public.site_versions)
        LEFT JOIN public.shares sh ON sh.id = u.share
        LEFT JOIN public.queues q ON r.per_queue AND q.id = u.queue
    )
    SELECT resource, key, queue, sharing_id, split_by, sum(held_jobs)::bigint AS held_jobs, sum((held_jobs + held_claims) * units)::bigint AS held_units,
        sum(ready_jobs)::bigint AS ready_jobs, sum(ready_jobs * units)::bigint AS wanted_units, sum(held_claims)::bigint AS held_claims
    FROM listed
    GROUP BY resource, key, queue, sharing_id, split_by
    HAVING sum(held_jobs + held_claims) <> 0 OR sum(ready_jobs) <> 0;
COMMENT ON VIEW report.resource_holders IS 'Who holds units of a resource and who waits for some: one row a resource and sharing ID, of a resource per queue one a queue too.';
COMMENT ON COLUMN report.resource_holders.resource IS 'Name of the resource.';
COMMENT ON COLUMN report.resource_holders.key IS 'Which of a keyed family, as orders of table:orders; NULL: it is none.';
COMMENT ON COLUMN report.resource_holders.queue IS 'Of a resource per queue: where the units are held; NULL: not per queue, or ready jobs, which are at no queue.';
COMMENT ON COLUMN report.resource_holders.sharing_id IS 'The user (or what the task said instead), path of the share or label, whichever the resource is split by.';
COMMENT ON COLUMN report.resource_holders.split_by IS 'user, share or label, as the site in force says; user for a resource that it does not have.';
COMMENT ON COLUMN report.resource_holders.held_jobs IS 'Jobs under a lease that hold units of it.';
COMMENT ON COLUMN report.resource_holders.held_units IS 'Units that they and held_claims hold.';
COMMENT ON COLUMN report.resource_holders.ready_jobs IS 'Jobs that wait for a slot and for units.';
COMMENT ON COLUMN report.resource_holders.wanted_units IS 'Units that they ask for, without those of claims that are to be bound.';
COMMENT ON COLUMN report.resource_holders.held_claims IS 'Resource claims that hold units of it.';

CREATE VIEW report.resources AS
    WITH in_force AS (
        SELECT r.* FROM public.site_resources r WHERE r.version = (SELECT max(version) FROM public.site_versions)
    ), units AS (
        SELECT resource, coalesce(key, '') AS key, queue, sum(held_units) AS held, sum(wanted_units) AS wanted
        FROM report.resource_holders
        GROUP BY resource, coalesce(key, ''), queue
    ), keys AS (
        SELECT r.name, '' AS key FROM in_force r WHERE NOT r.keyed
        UNION
        SELECT r.name, k.key
        FROM in_force r
        JOIN (
            SELECT resource, key FROM units
            UNION SELECT name, key FROM public.resource_capacities
            UNION SELECT split_part(name, ':', 1), substr(name, strpos(name, ':') + 1) FROM public.resource_external WHERE strpos(name, ':') > 0
        ) k ON k.resource = r.name
        WHERE r.keyed AND k.key <> ''
    )
    SELECT r.name AS resource, nullif(k.key, '') AS key, q.name AS queue,
        coalesce(live.capacity, r.capacity) AS capacity, r.capacity AS file_capacity, live.set_at AS capacity_set_at,
        coalesce(u.held, 0)::bigint AS held_units, coalesce(w.wanted, 0)::bigint AS wanted_units,
        x.total AS external_total, x.used AS external_used, x.reported_at AS external_at,
        x.reported_at > now() - r.external_expires AS external_counts
    FROM in_force r
    JOIN keys k USING (name)
    LEFT JOIN public.queues q ON r.per_queue AND q.removed_in IS NULL
    LEFT JOIN LATERAL (
        SELECT c.capacity, c.set_at
        FROM public.resource_capacities c
        WHERE c.name = r.name AND c.key IN (k.key, '') AND c.queue_id IN (coalesce(q.id, 0), 0)
        ORDER BY c.key = k.key DESC, c.queue_id = coalesce(q.id, 0) DESC
        LIMIT 1
    ) live ON true
    LEFT JOIN units u ON u.resource = r.name AND u.key = k.key AND u.queue IS NOT DISTINCT FROM q.name
    LEFT JOIN (SELECT resource, key, sum(wanted) AS wanted FROM units GROUP BY resource, key) w ON w.resource = r.name AND w.key = k.key
    LEFT JOIN public.resource_external x
        ON x.name = r.name || CASE WHEN k.key = '' THEN '' ELSE ':' || k.key END AND x.queue_id = coalesce(q.id, 0);
COMMENT ON VIEW report.resources IS 'The resources of the site in force: one row a resource, of one per queue a row a queue, of a keyed family a row each key that is in use.';
COMMENT ON COLUMN report.resources.resource IS 'Name of the resource.';
COMMENT ON COLUMN report.resources.key IS 'Which of a keyed family, as orders of table:orders; NULL: it is none.';
COMMENT ON COLUMN report.resources.queue IS 'Of a resource per queue: the queue; else NULL.';
COMMENT ON COLUMN report.resources.capacity IS 'Units that may be held at once: what was set with divvy resource set, else what the file says.';
COMMENT ON COLUMN report.resources.file_capacity IS 'What the site file says.';
COMMENT ON COLUMN report.resources.capacity_set_at IS 'When another capacity than the file''s was set; NULL: none is.';
COMMENT ON COLUMN report.resources.held_units IS 'Units that jobs and claims hold now.';
COMMENT ON COLUMN report.resources.wanted_units IS 'Units that ready jobs ask for; of a resource per queue at any queue.';
COMMENT ON COLUMN report.resources.external_total IS 'Units that there are, as last reported from outside; NULL: never.';
COMMENT ON COLUMN report.resources.external_used IS 'Units in use by anybody, ours too, as last reported from outside.';
COMMENT ON COLUMN report.resources.external_at IS 'When that was reported.';
COMMENT ON COLUMN report.resources.external_counts IS 'Whether the report is young enough to count; NULL: there is none.';

CREATE VIEW report.resource_claims AS
    SELECT c.id AS claim_id, nullif(c.task, 0) AS task_id, t.user_name, c.key, c.state, c.template ->> 'Name' AS template,
        coalesce(nullif(c.template -> 'Resources', 'null'), '{}') AS resources,
        coalesce((c.template ->> 'Node')::boolean, false) OR c.task = 0 AND c.node <> '' OR coalesce(nullif(c.template -> 'Devices', 'null'), '{}') <> '{}' AS on_node,
        coalesce(nullif(c.template -> 'Devices', 'null'), '{}') AS device_kinds, nullif((c.template ->> 'MaxSharers')::int, 0) AS max_sharers,
        coalesce((c.template ->> 'Gang')::boolean, false) AS gang, c.missing,
        coalesce((c.template ->> 'Linger')::double precision / 1000000000, 0) AS linger_seconds, q.name AS queue,
        CASE WHEN m.here THEN nullif(c.node, '') END AS node, CASE WHEN m.here THEN c.devices ELSE '{}' END AS devices,
        CASE WHEN m.here THEN c.bound_at END AS bound_at, s.path AS share, CASE WHEN m.here AND c.share <> 0 THEN c.sharing_id END AS sharing_id,
        c.sharers, c.idle_since,
        c.made_at AS created_at, c.ended_at
    FROM public.claims c
    CROSS JOIN LATERAL (SELECT c.state IN ('bound', 'draining') AS here) m -- one that ended has the place that it had before
    LEFT JOIN public.tasks t ON t.id = c.task
    LEFT JOIN public.queues q ON q.id = c.queue AND m.here
    LEFT JOIN public.shares s ON s.id = c.share AND m.here;
COMMENT ON VIEW report.resource_claims IS 'What several jobs hold together: one row a resource claim, also those that were released in the last days.';
COMMENT ON COLUMN report.resource_claims.claim_id IS 'Id of the claim.';
COMMENT ON COLUMN report.resource_claims.task_id IS 'Task whose jobs share it; NULL: people made it.';
COMMENT ON COLUMN report.resource_claims.user_name IS 'Whose task it is.';
COMMENT ON COLUMN report.resource_claims.key IS 'Which of the task''s claims; of one that people made, its name.';
COMMENT ON COLUMN report.resource_claims.state IS 'pending, bound, draining or released.';
COMMENT ON COLUMN report.resource_claims.template IS 'Name of the template that it was made by.';
COMMENT ON COLUMN report.resource_claims.resources IS 'Units that it holds while it is bound, by name.';
COMMENT ON COLUMN report.resource_claims.on_node IS 'Whether its jobs run on one node.';
COMMENT ON COLUMN report.resource_claims.device_kinds IS 'Devices of that node that it takes, by kind.';
COMMENT ON COLUMN report.resource_claims.max_sharers IS 'Jobs that may hold it at a time; NULL: no bound.';
COMMENT ON COLUMN report.resource_claims.gang IS 'Whether its jobs start together.';
COMMENT ON COLUMN report.resource_claims.missing IS 'Whether its jobs wait for a template, or for people to make it.';
COMMENT ON COLUMN report.resource_claims.linger_seconds IS 'How long it stays bound while nobody holds it.';
COMMENT ON COLUMN report.resource_claims.queue IS 'With node: where it is bound; NULL: nowhere.';
COMMENT ON COLUMN report.resource_claims.node IS 'Node where it is bound, which its jobs run on if on_node.';
COMMENT ON COLUMN report.resource_claims.devices IS 'Of that node, taken for it.';
COMMENT ON COLUMN report.resource_claims.bound_at IS 'Since when it is bound there.';
COMMENT ON COLUMN report.resource_claims.share IS 'Path of the share that its units are counted for; NULL: it holds none.';
COMMENT ON COLUMN report.resource_claims.sharing_id IS 'Whom they are counted for where a resource is split by user; NULL: it holds none.';
COMMENT ON COLUMN report.resource_claims.sharers IS 'Jobs that hold it: those with a lease.';
COMMENT ON COLUMN report.resource_claims.idle_since IS 'Since when nobody holds it although it is bound.';
COMMENT ON COLUMN report.resource_claims.created_at IS 'When the first of its jobs was made.';
COMMENT ON COLUMN report.resource_claims.ended_at IS 'When it was released; kept for as long as a replay may look back.';

CREATE VIEW report.resource_holdings AS
    SELECT split_part(e.key, ':', 1) AS resource, CASE WHEN strpos(e.key, ':') > 0 THEN substr(e.key, strpos(e.key, ':') + 1) END AS key,
        q.name AS queue, h.node,
        CASE coalesce(r.split_by, 'user') WHEN 'share' THEN s.path WHEN 'label' THEN h.label ELSE h.sharing_id END AS sharing_id,
        e.value::bigint AS units, h.job_id, h.claim_id, h.task_id, s.path AS share, h.since
    FROM (
        SELECT a.resources, a.label, a.sharing_id, l.queue, l.share, nullif(l.node, '') AS node, l.job AS job_id, NULL::bigint AS claim_id,
            l.task AS task_id, l.granted_at AS since
        FROM public.leases_now l
        JOIN public.shapes a ON a.id = l.shape AND a.resources <> '{}'
        UNION ALL
        SELECT CASE jsonb_typeof(c.template -> 'Resources') WHEN 'object' THEN c.template -> 'Resources' ELSE '{}' END, c.label, c.sharing_id, c.queue,
            c.share, nullif(c.node, ''), NULL, c.id, c.task, c.bound_at
        FROM public.claims c
        WHERE c.state IN ('bound', 'draining') AND c.task <> 0
    ) h
    CROSS JOIN LATERAL jsonb_each_text(h.resources) e
    LEFT JOIN public.site_resources r ON r.name = split_part(e.key, ':', 1) AND r.version = (SELECT max(version) FROM public.site_versions)
    LEFT JOIN public.shares s ON s.id = h.share
    LEFT JOIN public.queues q ON q.id = h.queue;
COMMENT ON VIEW report.resource_holdings IS 'Which units of resources are held by which job or resource claim: one row a resource and holder.';
COMMENT ON COLUMN report.resource_holdings.resource IS 'Name of the resource.';
COMMENT ON COLUMN report.resource_holdings.key IS 'Which of a keyed family, as orders of table:orders; NULL: it is none.';
COMMENT ON COLUMN report.resource_holdings.queue IS 'Queue where they are held.';
COMMENT ON COLUMN report.resource_holdings.node IS 'Node where they are held; NULL: its pilot did not say, or the claim has none.';
COMMENT ON COLUMN report.resource_holdings.sharing_id IS 'Whom they are counted for: the user (or what the task said instead), path of the share or label.';
COMMENT ON COLUMN report.resource_holdings.units IS 'Units that the holder holds.';
COMMENT ON COLUMN report.resource_holdings.job_id IS 'Job that holds them with its lease; NULL: a claim does.';
COMMENT ON COLUMN report.resource_holdings.claim_id IS 'Resource claim that holds them, once for all jobs that share it; NULL: a job does.';
COMMENT ON COLUMN report.resource_holdings.task_id IS 'Task of the job or claim.';
COMMENT ON COLUMN report.resource_holdings.share IS 'Path of the share that they are charged to.';
COMMENT ON COLUMN report.resource_holdings.since IS 'Since when.';

-- Bounds on seq prune partitions, a bound on the column at does not.
CREATE VIEW report.ledger AS
SELECT b.seq, e.i AS entry, b.at, b.by,
    CASE e.letter
        WHEN 'q' THEN 'enqueued' WHEN 'g' THEN 'granted' WHEN 's' THEN 'started' WHEN 'e' THEN 'ended' WHEN 'v' THEN 'revoked'
        WHEN 'x' THEN 'expected' WHEN 'h' THEN 'shaped' WHEN 'a' THEN 'adopted' WHEN 'b' THEN 'bounded' WHEN 'p' THEN 'polled' WHEN 'L' THEN 'leader' WHEN 't' THEN 'tick'
        WHEN 'c' THEN 'claimed' WHEN 'u' THEN 'unclaimed' WHEN 'j' THEN 'joined' WHEN 'd' THEN 'dropped' WHEN 'k' THEN 'took'
        WHEN 'P' THEN 'paused' WHEN 'R' THEN 'resumed' WHEN 'K' THEN 'killed' WHEN 'o' THEN 'placed' WHEN 'M' THEN 'moved' WHEN 'f' THEN 'closed'
        WHEN 'C' THEN 'capped' WHEN 'r' THEN 'reported' WHEN 'H' THEN 'holed' WHEN 'O' THEN 'owed' WHEN 'S' THEN 'stood' WHEN 'A' THEN 'asked' WHEN 'l' THEN 'lasting'
        WHEN 'W' THEN 'wished' WHEN 'E' THEN 'heard'
        ELSE e.letter
    END AS kind,
    coalesce(g.job, x.job, s.job, (b.rare[r.n] ->> 'job')::bigint) AS job,
    coalesce(g.attempt, x.attempt, s.attempt,
        CASE e.letter WHEN 'g' THEN b.granted_attempts[1] WHEN 'e' THEN b.ended_attempts[1] WHEN 's' THEN b.started_attempts[1] END,
        (b.rare[r.n] ->> 'attempt')::int) AS attempt,
    CASE e.letter WHEN 'g' THEN coalesce(g.task, b.granted_tasks[1]) ELSE (b.rare[r.n] ->> 'task')::bigint END AS task,
    CASE e.letter WHEN 'g' THEN coalesce(g.share, b.granted_shares[1]) ELSE (b.rare[r.n] ->> 'share')::int END AS share,
    CASE e.letter WHEN 'g' THEN coalesce(g.shape, b.granted_shapes[1]) ELSE (b.rare[r.n] ->> 'shape')::int END AS shape,
    CASE e.letter WHEN 'g' THEN coalesce(g.place, b.granted_places[1]) ELSE (b.rare[r.n] ->> 'place')::bigint END AS place,
    CASE e.letter WHEN 'g' THEN coalesce(g.queue, b.granted_queues[1]) WHEN 'p' THEN (b.rare[r.n] ->> 'queue')::int END AS queue,
    CASE e.letter WHEN 'g' THEN coalesce(g.units, b.granted_units[1]) END AS units,
    CASE e.letter WHEN 'g' THEN coalesce(g.pilot, b.granted_pilots[1]) END AS pilot,
    CASE e.letter WHEN 'g' THEN coalesce(g.node, b.granted_nodes[1]) END AS node,
    CASE e.letter WHEN 'e' THEN substr(b.ended_outcomes, least(e.n::int, length(b.ended_outcomes)), 1) END AS outcome,
    CASE e.letter WHEN 'e' THEN substr(b.ended_next, least(e.n::int, length(b.ended_next)), 1) END AS next,
    CASE e.letter WHEN 'e' THEN coalesce(x.exit_code, b.ended_exit_codes[1]) END AS exit_code,
    CASE e.letter WHEN 'e' THEN coalesce(x.cpu_milli, b.ended_cpu_milli[1]) END AS cpu_milli,
    CASE e.letter WHEN 'e' THEN coalesce(x.memory_mb, b.ended_memory_mb[1]) END AS memory_mb,
    b.rare[r.n] AS detail
FROM public.batches b
CROSS JOIN LATERAL (
    -- n counts the entries that are in the same columns.
    SELECT i, letter, row_number() OVER (PARTITION BY CASE WHEN letter IN ('g', 'e', 's') THEN letter END ORDER BY i) AS n
    FROM generate_series(1, length(b.kinds)) AS i, substr(b.kinds, i, 1) AS letter
) e
-- NULL where the entry has columns of its own.
CROSS JOIN LATERAL (SELECT CASE WHEN e.letter NOT IN ('g', 'e', 's') THEN e.n END AS n) r
LEFT JOIN LATERAL unnest(b.granted_jobs, b.granted_attempts, b.granted_tasks, b.granted_shares, b.granted_shapes, b.granted_places,
    b.granted_queues, b.granted_units, b.granted_pilots, b.granted_nodes) WITH ORDINALITY
    AS g (job, attempt, task, share, shape, place, queue, units, pilot, node, n) ON e.letter = 'g' AND g.n = e.n
LEFT JOIN LATERAL unnest(b.ended_jobs, b.ended_attempts, b.ended_exit_codes, b.ended_cpu_milli, b.ended_memory_mb) WITH ORDINALITY
    AS x (job, attempt, exit_code, cpu_milli, memory_mb, n) ON e.letter = 'e' AND x.n = e.n
LEFT JOIN LATERAL unnest(b.started_jobs, b.started_attempts) WITH ORDINALITY AS s (job, attempt, n) ON e.letter = 's' AND s.n = e.n;
COMMENT ON VIEW report.ledger IS 'The log: a row an entry, for as long as the log is kept. Restrict it by seq >= report.ledger_seq(''…''). Secrets are left out.';
COMMENT ON COLUMN report.ledger.seq IS 'Number of the batch: what was decided together. Without gaps.';
COMMENT ON COLUMN report.ledger.entry IS 'Number of the entry in its batch, from 1.';
COMMENT ON COLUMN report.ledger.at IS 'When the batch was appended.';
COMMENT ON COLUMN report.ledger.by IS 'Daemon that decided.';
COMMENT ON COLUMN report.ledger.kind IS 'What happened: enqueued, granted, started, ended, …';
COMMENT ON COLUMN report.ledger.job IS 'Job, of entries that are about one; of others see detail.';
COMMENT ON COLUMN report.ledger.attempt IS 'Number of the attempt, from 1.';
COMMENT ON COLUMN report.ledger.task IS 'Task of the jobs.';
COMMENT ON COLUMN report.ledger.share IS 'Stable id of the share.';
COMMENT ON COLUMN report.ledger.shape IS 'Number of the requirements.';
COMMENT ON COLUMN report.ledger.place IS 'Place in the order of the share: lower comes first.';
COMMENT ON COLUMN report.ledger.queue IS 'Stable id of the queue.';
COMMENT ON COLUMN report.ledger.units IS 'Thousandths of a unit that a grant holds.';
COMMENT ON COLUMN report.ledger.pilot IS 'Pilot that was given the job.';
COMMENT ON COLUMN report.ledger.node IS 'Host of the pilot.';
COMMENT ON COLUMN report.ledger.outcome IS 'Of an end: f finished, x failed, l lost, c cancelled, r revoked.';
COMMENT ON COLUMN report.ledger.next IS 'What becomes of the job then: . it is over, c it is cancelled, r it is ready again, w a rule decides.';
COMMENT ON COLUMN report.ledger.exit_code IS 'Of the process; 0 where there is none.';
COMMENT ON COLUMN report.ledger.cpu_milli IS 'Milliseconds of processor time.';
COMMENT ON COLUMN report.ledger.memory_mb IS 'Peak memory.';
COMMENT ON COLUMN report.ledger.detail IS 'All fields of entries of the other kinds.';

-- The first seq whose batch is of that time or later; one after the newest where there is none. As time never falls and seq has no gaps
-- it looks at some thirty rows. Whoever reads schema report may call it without a right to the table.
-- +goose StatementBegin
CREATE FUNCTION report.ledger_seq(since timestamptz) RETURNS bigint
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    AS $$
DECLARE
    low    bigint := coalesce((SELECT b.seq FROM batches b ORDER BY b.seq LIMIT 1), 1);
    high   bigint := coalesce((SELECT b.seq + 1 FROM batches b ORDER BY b.seq DESC LIMIT 1), 1);
    middle bigint;
BEGIN
    WHILE low < high LOOP
        middle := (low + high) / 2;
        IF (SELECT b.at < since FROM batches b WHERE b.seq = middle) THEN
            low := middle + 1;
        ELSE
            high := middle;
        END IF;
    END LOOP;
    RETURN low;
END $$;
-- +goose StatementEnd
COMMENT ON FUNCTION report.ledger_seq IS 'The first seq of report.ledger that is of a time or later.';

-- What else a decision saw is not kept: it is the state at its seq, which divvy explain and divvy replay make again.
CREATE VIEW report.decisions AS
    SELECT b.at, b.by AS daemon_id, b.seq, g.job AS job_id, q.name AS queue, s.path AS share,
        (coalesce(g.units, b.granted_units[1]) / 1000.0)::numeric(20, 3) AS units, coalesce(g.attempt, b.granted_attempts[1]) AS attempt
    FROM public.batches b
    CROSS JOIN LATERAL unnest(b.granted_jobs, b.granted_attempts, b.granted_shares, b.granted_queues, b.granted_units)
        AS g (job, attempt, share, queue, units)
    LEFT JOIN public.queues q ON q.id = coalesce(g.queue, b.granted_queues[1])
    LEFT JOIN public.shares s ON s.id = coalesce(g.share, b.granted_shares[1]);
COMMENT ON VIEW report.decisions IS 'Which job was given to which queue, for as long as the log is kept: one row a grant. Restrict it by seq >= report.ledger_seq(''…'').';
COMMENT ON COLUMN report.decisions.at IS 'When it was decided.';
COMMENT ON COLUMN report.decisions.daemon_id IS 'Daemon that decided.';
COMMENT ON COLUMN report.decisions.seq IS 'Number of the batch: what was decided together has the same.';
COMMENT ON COLUMN report.decisions.job_id IS 'Job that was given.';
COMMENT ON COLUMN report.decisions.queue IS 'Queue of the slot that it was given to.';
COMMENT ON COLUMN report.decisions.share IS 'Path of the share that won, and pays.';
COMMENT ON COLUMN report.decisions.units IS 'Units that the job is charged.';
COMMENT ON COLUMN report.decisions.attempt IS 'Attempt of the job.';

CREATE VIEW report.judgements AS
    SELECT a.job AS job_id, a.attempt, a.task AS task_id, t.user_name, s.path AS share, q.name AS queue,
        CASE a.outcome WHEN 'x' THEN 'failed' WHEN 'l' THEN 'lost' WHEN 'f' THEN 'finished' WHEN 'c' THEN 'cancelled' ELSE 'revoked' END AS outcome,
        nullif(a.exit_code, 0) AS exit_code,
        coalesce((SELECT x.reason FROM public.attempt_texts x
            WHERE x.job_id = a.job AND x.attempt = a.attempt AND x.ended_on = (a.ended_at AT TIME ZONE 'UTC')::date), '') AS message,
        a.ended_at, j.note AS judged
    FROM public.judgements j
    CROSS JOIN LATERAL (
        SELECT h.* FROM public.history h WHERE h.job = j.job_id AND h.attempt = j.attempt ORDER BY h.ended_at DESC LIMIT 1
    ) a
    LEFT JOIN public.shares s ON s.id = a.share
    LEFT JOIN public.queues q ON q.id = a.queue
    LEFT JOIN public.tasks t ON t.id = a.task;
COMMENT ON VIEW report.judgements IS 'Attempts that did not finish and of which a retry rule or the terms of their task made something. ';
COMMENT ON COLUMN report.judgements.job_id IS 'Job that was tried.';
COMMENT ON COLUMN report.judgements.attempt IS 'Number of the attempt, from 1.';
COMMENT ON COLUMN report.judgements.task_id IS 'Task of the job.';
COMMENT ON COLUMN report.judgements.user_name IS 'Whose task it is.';
COMMENT ON COLUMN report.judgements.share IS 'Path of the share that was charged.';
COMMENT ON COLUMN report.judgements.queue IS 'Queue where it ran.';
COMMENT ON COLUMN report.judgements.outcome IS 'failed or lost.';
COMMENT ON COLUMN report.judgements.exit_code IS 'Exit code of the process; NULL when unknown.';
COMMENT ON COLUMN report.judgements.message IS 'What the pilot said about the end.';
COMMENT ON COLUMN report.judgements.ended_at IS 'When the lease ended.';
COMMENT ON COLUMN report.judgements.judged IS 'Which rule, rehearsed ones too, or which of the terms, and what became of the job, in words.';

CREATE VIEW report.audit AS
    SELECT a.id, a.at, a.who, a.role, a.subject, a.what, a.object, a.before, a.after
    FROM public.audit a;
COMMENT ON VIEW report.audit IS 'A change that somebody made.';
COMMENT ON COLUMN report.audit.id IS 'Number; they rise, with gaps.';
COMMENT ON COLUMN report.audit.at IS 'When its transaction began.';
COMMENT ON COLUMN report.audit.who IS 'Name of the token that made it; token file; anybody, where none is asked for; a user of PanDA''s API.';
COMMENT ON COLUMN report.audit.role IS 'Role of the token.';
COMMENT ON COLUMN report.audit.subject IS 'What the token is bound to: a user, queues, a share.';
COMMENT ON COLUMN report.audit.what IS 'The kind of thing, a dot, the verb: task.kill.';
COMMENT ON COLUMN report.audit.object IS 'Id or name of the thing.';
COMMENT ON COLUMN report.audit.before IS 'How it was; empty: there was none.';
COMMENT ON COLUMN report.audit.after IS 'How it is since.';

CREATE VIEW report.freshness AS
    SELECT f.seq AS folded_seq, f.at AS folded_at, greatest(n.seq, f.seq) AS newest_seq, greatest(n.at, f.at) AS newest_at,
        greatest(extract(epoch FROM n.at - CASE WHEN f.seq > 0 THEN f.at ELSE n.since END), 0)::double precision AS behind_seconds, r.at AS nodes_at
    FROM public.folded f
    CROSS JOIN public.rolled r
    LEFT JOIN LATERAL (
        SELECT b.seq, b.at, (SELECT o.at FROM public.batches o ORDER BY o.seq LIMIT 1) AS since FROM public.batches b ORDER BY b.seq DESC LIMIT 1
    ) n ON true;
COMMENT ON VIEW report.freshness IS 'How far the views are behind what was decided: one row. Those of shares, jobs, leases, attempts, usage and claims show what was decided up to folded_seq.';
COMMENT ON COLUMN report.freshness.folded_seq IS 'Number of the last batch of the log that the views show.';
COMMENT ON COLUMN report.freshness.folded_at IS 'When that was appended.';
COMMENT ON COLUMN report.freshness.newest_seq IS 'Number of the newest batch.';
COMMENT ON COLUMN report.freshness.newest_at IS 'When that was appended.';
COMMENT ON COLUMN report.freshness.behind_seconds IS 'Seconds between the two; NULL: nothing was ever decided.';
COMMENT ON COLUMN report.freshness.nodes_at IS 'Up to when report.node_usage has sums; later attempts it reads one by one.';

-- +goose Down
-- The role stays: other databases of the server may use it.
DROP SCHEMA report CASCADE;
