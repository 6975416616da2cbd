-- What people may read with SQL: schema report, role divvy_reader. Everything else in the database may change from one release to the
-- next; these views only gain columns.
--
-- The views run with the rights of their owner, so that a reader needs no right on any table. Units are units here (a core times the
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

-- Exact at the moment of reading: the counters and the part of the ledger that they do not have yet. An inner node has the sums of its
-- leaves.
CREATE VIEW report.shares_now AS
    WITH RECURSIVE upwards (share_id, node_id) AS (
        SELECT id, id FROM public.shares
        UNION ALL
        SELECT u.share_id, s.parent_id FROM upwards u JOIN public.shares s ON s.id = u.node_id WHERE s.parent_id IS NOT NULL
    ), moves AS (
        SELECT share_id, waiting, ready, held, held_units FROM public.job_counters
        UNION ALL
        SELECT share_id,
            n * ((after = 'w')::int - (before = 'w')::int),
            n * ((after = 'r')::int - (before = 'r')::int),
            n * ((after = 'l')::int - (before = 'l')::int),
            units * ((after = 'l')::int - (before = 'l')::int)
        FROM public.job_tail_moves
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

CREATE VIEW report.deadlines AS
    SELECT d.task_id, t.name, t.user_name, s.path AS share, t.state, d.deadline, d.eta, d.late_risk, d.per_s * 3600 AS jobs_per_hour,
        greatest(t.n_jobs - t.n_finished - t.n_failed - t.n_cancelled, 0) AS jobs_left, d.boost, d.boosted, d.seen_at
    FROM public.task_deadlines d
    JOIN public.tasks t ON t.id = d.task_id
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
    SELECT j.id AS job_id, r.task_id, s.path AS share,
        CASE WHEN l.job_id IS NOT NULL THEN 'leased' ELSE j.state END AS state,
        j.priority, j.attempt, j.max_attempts, j.idx AS index, j.retry_of, q.name AS queue, l.pilot, j.created_at, NULL::timestamptz AS ended_at
    FROM public.job_ranges r
    CROSS JOIN LATERAL (
        SELECT i.id, i.share_id, i.state, i.priority, i.attempt, i.max_attempts, i.idx, i.retry_of, i.created_at FROM public.jobs i WHERE i.id >= r.low AND i.id <= r.high AND i.task_id = r.task_id ORDER BY i.id
    ) j
    JOIN public.shares s ON s.id = j.share_id
    LEFT JOIN public.leases l ON l.job_id = j.id
    LEFT JOIN public.queues q ON q.id = l.queue_id
    UNION ALL
    SELECT e.id, e.task_id, s.path, e.state, e.priority, e.attempt, e.max_attempts, e.idx, e.retry_of, NULL, NULL, e.created_at, e.ended_at
    FROM public.ended_jobs e
    LEFT JOIN public.shares s ON s.id = e.share_id;
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

CREATE VIEW report.leases AS
    SELECT l.job_id, l.attempt, l.task_id, t.user_name, s.path AS share, q.name AS queue, l.cores,
        (l.units / 1000.0)::numeric(20, 3) AS units, l.priority, l.state, l.pilot, l.node, now() - l.claimed_at AS age,
        l.claimed_at, l.started_at, l.expires_at, l.cpu_s AS cpu_seconds, l.memory_mb,
        coalesce(l.cancel_reason, CASE WHEN l.reclaim_grace_s IS NOT NULL THEN 'reclaim' END) AS cancel_reason
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
COMMENT ON COLUMN report.leases.started_at IS 'When its pilot first said, in a renewal, that it runs: later than the payload began by up to the time between two renewals. NULL: it has not said so.';
COMMENT ON COLUMN report.leases.expires_at IS 'When it is lost unless its pilot renews it.';
COMMENT ON COLUMN report.leases.cpu_seconds IS 'CPU time used so far, as the pilot last reported.';
COMMENT ON COLUMN report.leases.memory_mb IS 'Peak memory so far, as the pilot last reported.';
COMMENT ON COLUMN report.leases.cancel_reason IS 'Why the pilot was told to end it; NULL when it was not.';

CREATE VIEW report.reclaims AS
    SELECT r.job_id, r.attempt, r.pool, c.path AS claimer, v.path AS victim,
        (r.units / 1000.0)::numeric(20, 3) AS units, r.grace_s AS grace_seconds,
        CASE WHEN r.closed_at IS NOT NULL THEN coalesce(r.outcome, 'unknown') WHEN l.told_at IS NOT NULL THEN 'told' ELSE 'ordered' END AS state,
        r.ordered_at, l.told_at, r.closed_at, r.said, r.lost AS lost_unit_seconds, l.pilot
    FROM public.reclaims r
    LEFT JOIN public.leases l ON l.job_id = r.job_id AND l.nonce = r.nonce AND r.closed_at IS NULL
    LEFT JOIN public.shares c ON c.id = r.claimer_id
    LEFT JOIN public.shares v ON v.id = r.victim_id;
COMMENT ON VIEW report.reclaims IS 'Orders to running jobs to give their units back to a share that is below its target; kept for a week.';
COMMENT ON COLUMN report.reclaims.job_id IS 'Job that was to end. It is ready again afterwards.';
COMMENT ON COLUMN report.reclaims.attempt IS 'Its attempt.';
COMMENT ON COLUMN report.reclaims.pool IS 'Resource group.';
COMMENT ON COLUMN report.reclaims.claimer IS 'Share that asked for the units.';
COMMENT ON COLUMN report.reclaims.victim IS 'Share that the job belongs to.';
COMMENT ON COLUMN report.reclaims.units IS 'Units that the job held.';
COMMENT ON COLUMN report.reclaims.grace_seconds IS 'Seconds that the pilot has, from told_at on.';
COMMENT ON COLUMN report.reclaims.state IS 'ordered, told (the pilot knows); then the outcome of the attempt: revoked, or finished, failed, lost, cancelled when that came first. unknown: nothing is recorded.';
COMMENT ON COLUMN report.reclaims.ordered_at IS 'When it was decided.';
COMMENT ON COLUMN report.reclaims.told_at IS 'When its pilot was told, of an open order; the grace counts from there.';
COMMENT ON COLUMN report.reclaims.closed_at IS 'When the lease was seen to be gone; NULL while the order is open.';
COMMENT ON COLUMN report.reclaims.said IS 'Of a revoked attempt: cancelled or failed, as the pilot said, or reclaimed when it said nothing in time.';
COMMENT ON COLUMN report.reclaims.lost_unit_seconds IS 'Units times seconds that a revoked attempt had held: work that is done again.';
COMMENT ON COLUMN report.reclaims.pilot IS 'Pilot that is to end the job, of an open order.';

-- Exact at the moment of reading, like report.shares_now. Jobs that do not hold anything are at no queue.
CREATE VIEW report.resource_holders AS
    WITH asking AS (
        SELECT s.id AS shape_id, s.label, s.sharing_id, s.cores > 0 AS of_job, split_part(e.key, ':', 1) AS resource,
            CASE WHEN strpos(e.key, ':') > 0 THEN substr(e.key, strpos(e.key, ':') + 1) END AS key, e.value::bigint AS units
        FROM public.shapes s
        CROSS JOIN LATERAL jsonb_each_text(s.resources) e
        WHERE s.resources <> '{}'
    ), moves AS (
        SELECT c.share_id, c.shape_id, c.queue_id, c.ready, c.held
        FROM public.counters c
        WHERE c.shape_id IN (SELECT shape_id FROM asking)
        UNION ALL
        SELECT m.share_id, m.shape_id, CASE s.state WHEN 'l' THEN m.queue_id ELSE 0 END,
            CASE s.state WHEN 'r' THEN s.n ELSE 0 END, CASE s.state WHEN 'l' THEN s.n ELSE 0 END
        FROM public.ledger_tail_moves m
        CROSS JOIN LATERAL (VALUES (m.before, -m.n), (m.after, m.n)) AS s (state, n)
        WHERE m.shape_id IN (SELECT shape_id FROM asking) AND s.state IN ('r', 'l')
    ), jobs AS (
        SELECT share_id, shape_id, queue_id, sum(ready) AS ready, sum(held) AS held
        FROM moves
        GROUP BY share_id, shape_id, queue_id
    ), listed AS (
        SELECT a.resource, a.key, q.name AS queue, coalesce(r.split_by, 'user') AS split_by, j.ready, j.held, a.units, a.of_job,
            CASE coalesce(r.split_by, 'user') WHEN 'share' THEN sh.path WHEN 'label' THEN a.label ELSE a.sharing_id END AS sharing_id
        FROM jobs j
        JOIN asking a USING (shape_id)
        LEFT JOIN public.site_resources r ON r.name = a.resource AND r.version = (SELECT max(version) FROM public.site_versions)
        LEFT JOIN public.shares sh ON sh.id = j.share_id
        LEFT JOIN public.queues q ON r.per_queue AND q.id = j.queue_id
    )
    SELECT resource, key, queue, sharing_id, split_by, coalesce(sum(held) FILTER (WHERE of_job), 0)::bigint AS held_jobs, sum(held * units)::bigint AS held_units,
        sum(ready)::bigint AS ready_jobs, sum(ready * units)::bigint AS wanted_units,
        coalesce(sum(held) FILTER (WHERE NOT of_job), 0)::bigint AS held_claims
    FROM listed
    GROUP BY resource, key, queue, sharing_id, split_by
    HAVING sum(held) <> 0 OR sum(ready) <> 0;
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
COMMENT ON COLUMN report.resource_holders.held_claims IS 'Resource claims that hold units of it: each counts as one that holds a shape without cores.';

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
    SELECT c.id AS claim_id, nullif(c.task_id, 0) AS task_id, t.user_name, c.key, c.state, c.template ->> 'name' AS template,
        coalesce(c.template -> 'resources', '{}') AS resources,
        coalesce((c.template ->> 'node')::boolean, false) OR c.task_id = 0 AND c.node <> '' OR coalesce(c.template -> 'devices', '{}') <> '{}' AS on_node,
        coalesce(c.template -> 'devices', '{}') AS device_kinds, (c.template ->> 'max_sharers')::int AS max_sharers,
        coalesce((c.template ->> 'gang')::boolean, false) AS gang, coalesce((c.template ->> 'missing')::boolean, false) AS missing,
        c.linger_s AS linger_seconds, q.name AS queue, nullif(c.node, '') AS node,
        ARRAY(SELECT jsonb_array_elements_text(c.devices)) AS devices, c.bound_at, s.path AS share, h.sharing_id, c.sharers, c.idle_since,
        c.created_at, c.ended_at
    FROM public.resource_claims c
    LEFT JOIN public.tasks t ON t.id = c.task_id
    LEFT JOIN public.queues q ON q.id = c.queue_id
    LEFT JOIN public.shares s ON s.id = c.share_id AND c.charge_id <> 0
    LEFT JOIN public.shapes h ON h.id = c.charge_id AND c.share_id <> 0;
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
        CASE coalesce(r.split_by, 'user') WHEN 'share' THEN s.path WHEN 'label' THEN a.label ELSE a.sharing_id END AS sharing_id,
        e.value::bigint AS units, h.job_id, h.claim_id, h.task_id, s.path AS share, h.since
    FROM (
        SELECT l.shape_id, l.queue_id, l.share_id, nullif(l.node, '') AS node, l.job_id, NULL::bigint AS claim_id, l.task_id, l.claimed_at AS since
        FROM public.leases l
        UNION ALL
        SELECT c.charge_id, c.queue_id, c.share_id, nullif(c.node, ''), NULL, c.id, c.task_id, c.bound_at
        FROM public.resource_claims c
        WHERE c.charge_id <> 0 AND c.share_id <> 0
    ) h
    JOIN public.shapes a ON a.id = h.shape_id AND a.resources <> '{}'
    CROSS JOIN LATERAL jsonb_each_text(a.resources) e
    LEFT JOIN public.site_resources r ON r.name = split_part(e.key, ':', 1) AND r.version = (SELECT max(version) FROM public.site_versions)
    LEFT JOIN public.shares s ON s.id = h.share_id
    LEFT JOIN public.queues q ON q.id = h.queue_id;
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

CREATE VIEW report.decisions AS
    SELECT d.written_at - r.ms_ago * interval '1 ms' AS at,
        d.written_at,
        d.daemon_id,
        r.lane,
        r.seq,
        r.job_id,
        q.name AS queue,
        s.path AS share,
        r.deficit AS deficit_units,
        n.path AS runner_up,
        CASE WHEN r.runner_up_id <> 0 THEN r.runner_up_deficit END AS runner_up_deficit_units,
        r.candidates,
        (r.units / 1000.0)::numeric(20, 3) AS units,
        (r.round / 1000.0)::numeric(20, 3) AS round_units,
        r.weight,
        nullif(d.version, 0) AS version,
        nullif(d.turn + r.turn, 0) AS turn,
        coalesce(r.cores, d.cores[1]) AS slot_cores,
        coalesce(r.most, d.mosts[1]) AS slot_jobs,
        coalesce(r.unfit, d.unfits[1]) AS unfit,
        coalesce(r.barred, d.barreds[1]) AS barred,
        d.pull + coalesce(r.pull, d.pulls[1]) AS pull,
        coalesce(r.attempt, d.attempts[1]) AS attempt,
        d.level_deficits[r.level_end - coalesce(r.depth, d.depths[1]) + 1 : r.level_end] AS level_deficits_units,
        CASE WHEN r.skip_end IS NOT NULL THEN ARRAY(
            SELECT k.path FROM unnest(d.skipped_ids[r.skip_end - coalesce(r.skip, d.skips[1]) + 1 : r.skip_end]) WITH ORDINALITY AS i (id, nth)
            LEFT JOIN public.shares k ON k.id = i.id ORDER BY i.nth) END AS skipped,
        CASE WHEN r.skip_end IS NOT NULL THEN ARRAY(
            SELECT CASE i.word WHEN 'f' THEN 'unfit' WHEN 'm' THEN 'max' WHEN 'p' THEN 'pool' WHEN 'l' THEN 'lend' WHEN 'b' THEN 'borrow'
                WHEN 'r' THEN 'resource' END
            FROM string_to_table(substr(d.skipped_words, r.skip_end - coalesce(r.skip, d.skips[1]) + 1, coalesce(r.skip, d.skips[1])), NULL)
                WITH ORDINALITY AS i (word, nth) ORDER BY i.nth) END AS skipped_for
    FROM public.decisions d
    CROSS JOIN LATERAL (
        SELECT u.*, (sum(coalesce(u.depth, d.depths[1])) OVER so_far)::int AS level_end, (sum(coalesce(u.skip, d.skips[1])) OVER so_far)::int AS skip_end
        FROM unnest(d.ms_ago, d.lanes, d.seqs, d.job_ids, d.queue_ids, d.share_ids, d.deficits, d.runner_up_ids, d.runner_up_deficits,
                d.candidates, d.units, d.rounds, d.weights, d.turns, d.cores, d.mosts, d.unfits, d.barreds, d.pulls, d.attempts, d.depths, d.skips)
            WITH ORDINALITY AS u (ms_ago, lane, seq, job_id, queue_id, share_id, deficit, runner_up_id, runner_up_deficit,
                candidates, units, round, weight, turn, cores, most, unfit, barred, pull, attempt, depth, skip, nth)
        WINDOW so_far AS (ORDER BY u.nth)
    ) r
    LEFT JOIN public.queues q ON q.id = r.queue_id
    LEFT JOIN public.shares s ON s.id = r.share_id
    LEFT JOIN public.shares n ON n.id = r.runner_up_id;
COMMENT ON VIEW report.decisions IS 'Why a job was given to whom, for as long as decisions are kept: one row a recorded claim. Restrict it by written_at: days are stored apart.';
COMMENT ON COLUMN report.decisions.at IS 'When it was decided, to the millisecond.';
COMMENT ON COLUMN report.decisions.written_at IS 'When the record was written: a second or so after at.';
COMMENT ON COLUMN report.decisions.daemon_id IS 'Daemon that decided.';
COMMENT ON COLUMN report.decisions.lane IS 'Lane of the daemon''s ledger in which the claim is counted.';
COMMENT ON COLUMN report.decisions.seq IS 'Position in that lane: claims of one transaction have the same.';
COMMENT ON COLUMN report.decisions.job_id IS 'Job that was given.';
COMMENT ON COLUMN report.decisions.queue IS 'Queue of the slot that it was given to.';
COMMENT ON COLUMN report.decisions.share IS 'Path of the share that won, and pays.';
COMMENT ON COLUMN report.decisions.deficit_units IS 'Target minus held, before the grant, at the level where the paths of winner and runner-up part: of the winner''s side. Of the share itself when there is no runner-up. Seven digits.';
COMMENT ON COLUMN report.decisions.runner_up IS 'Path of the share that would have been picked without the winner; NULL when no other had a job for this slot.';
COMMENT ON COLUMN report.decisions.runner_up_deficit_units IS 'The same of the runner-up''s side; NULL when there is none.';
COMMENT ON COLUMN report.decisions.candidates IS 'Leaves that had a job for this slot which every hard limit admitted.';
COMMENT ON COLUMN report.decisions.units IS 'Units that the job is charged.';
COMMENT ON COLUMN report.decisions.round_units IS 'R that the targets were solved for: units held with those on offer, at most the capacity.';
COMMENT ON COLUMN report.decisions.weight IS 'Claims that this record stands for: 1 = all are recorded; more when a daemon made over a thousand claims a second.';
COMMENT ON COLUMN report.decisions.version IS 'Version of the site that was in force at the daemon.';
COMMENT ON COLUMN report.decisions.turn IS 'Which decision of its daemon it was, claimed or not.';
COMMENT ON COLUMN report.decisions.slot_cores IS 'Cores that the slot had left to offer.';
COMMENT ON COLUMN report.decisions.slot_jobs IS 'Jobs that the pull asked for and did not have yet.';
COMMENT ON COLUMN report.decisions.unfit IS 'Leaves with ready jobs that were skipped since none of them fits the slot.';
COMMENT ON COLUMN report.decisions.barred IS 'Leaves with jobs for the slot that were skipped since a limit kept them back.';
COMMENT ON COLUMN report.decisions.pull IS 'Number of the pull at its daemon: what one pull was given has the same.';
COMMENT ON COLUMN report.decisions.attempt IS 'Attempt of the job.';
COMMENT ON COLUMN report.decisions.level_deficits_units IS 'Target minus held, before the grant, of the nodes on the path of the share that won, from the top level down to the share. Seven digits.';
COMMENT ON COLUMN report.decisions.skipped IS 'Paths of the first eight shares with ready jobs that would have got the slot before the winner, in this order.';
COMMENT ON COLUMN report.decisions.skipped_for IS 'Why each of skipped was skipped: unfit (none of its jobs fits the slot), max (of it or a share above it), pool (capacity), lend, borrow or resource.';

CREATE VIEW report.judgements AS
    SELECT a.job_id, a.attempt, a.task_id, t.user_name, s.path AS share, q.name AS queue, a.outcome, a.exit_code, a.message, a.ended_at, a.judged
    FROM public.attempts a
    LEFT JOIN public.shares s ON s.id = a.share_id
    LEFT JOIN public.queues q ON q.id = a.queue_id
    LEFT JOIN public.tasks t ON t.id = a.task_id
    WHERE a.judged IS NOT NULL;
COMMENT ON VIEW report.judgements IS 'Attempts that did not finish and of which a retry rule or the terms of their task made something. Restrict it by ended_at: days are stored apart.';
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

-- +goose Down
-- The role stays: other databases of the server may use it.
DROP SCHEMA report CASCADE;
