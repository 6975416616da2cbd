-- Active reclaim: orders to give units back, and what came of them.

-- +goose Up
-- Columns of their own beside cancel_reason: for a daemon one version older that one means that the job is cancelled
-- when the attempt ends. No index has them: a renewal that delivers an order stays HOT.
ALTER TABLE leases
    ADD COLUMN reclaim_grace_s int CHECK (reclaim_grace_s >= 0),
    ADD COLUMN told_at timestamptz CHECK (told_at IS NULL OR reclaim_grace_s IS NOT NULL);
COMMENT ON COLUMN leases.reclaim_grace_s IS 'Ordered to end: the seconds that its pilot has for it from told_at on; NULL: not ordered.';
COMMENT ON COLUMN leases.told_at IS 'When a renewal first answered with that order; NULL: not yet.';

ALTER TABLE attempts ADD COLUMN said text;
COMMENT ON COLUMN attempts.said IS 'How a reclaimed attempt that counts as revoked ended: cancelled or failed, as its pilot said, or reclaimed, without a word from it; NULL for all others.';

-- Rows are inserted with the order and closed when its lease is seen to be gone; dropped after a week.
CREATE TABLE reclaims (
    job_id     bigint      NOT NULL,
    attempt    int         NOT NULL,
    nonce      bigint      NOT NULL,
    pool       text        NOT NULL,
    claimer_id int         NOT NULL,
    victim_id  int         NOT NULL,
    plan_id    int         NOT NULL,
    units      bigint      NOT NULL CHECK (units > 0),
    grace_s    int         NOT NULL CHECK (grace_s >= 0),
    ordered_at timestamptz NOT NULL DEFAULT now(),
    closed_at  timestamptz,
    outcome    text,
    said       text,
    lost       double precision CHECK (lost >= 0),
    PRIMARY KEY (job_id, attempt),
    CHECK (outcome IS NULL OR closed_at IS NOT NULL)
);
CREATE INDEX reclaims_ordered ON reclaims (ordered_at);
CREATE INDEX reclaims_open ON reclaims (job_id) WHERE closed_at IS NULL;
COMMENT ON TABLE reclaims IS 'One row an order to a lease to give its units back.';
COMMENT ON COLUMN reclaims.claimer_id IS 'Share that asked for the units.';
COMMENT ON COLUMN reclaims.victim_id IS 'Share that gives them.';
COMMENT ON COLUMN reclaims.plan_id IS 'Share whose plan has the reclaim: the claimer or an ancestor. The rate counts by it.';
COMMENT ON COLUMN reclaims.units IS 'Thousandths of a unit.';
COMMENT ON COLUMN reclaims.closed_at IS 'When the lease was seen to be gone; NULL: the order is open.';
COMMENT ON COLUMN reclaims.outcome IS 'Of the attempt. Anything but revoked: it ended before the order did it.';
COMMENT ON COLUMN reclaims.lost IS 'Units times seconds from claim to end, of a revoked attempt: what the reclaim cost.';
COMMENT ON INDEX reclaims_ordered IS 'Orders of the last minutes, for the rate; of more than a week ago, to drop them.';
COMMENT ON INDEX reclaims_open IS 'What is not settled yet; mostly empty.';

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

CREATE OR REPLACE VIEW report.leases AS
    SELECT l.job_id, l.attempt, l.task_id, t.user_name, s.path AS share, q.name AS queue, l.cores,
        (l.units / 1000.0)::numeric(20, 3) AS units, l.priority, l.state, l.pilot, l.node, now() - l.claimed_at AS age,
        l.claimed_at, l.started_at, l.expires_at, l.cpu_s AS cpu_seconds, l.memory_mb,
        coalesce(l.cancel_reason, CASE WHEN l.reclaim_grace_s IS NOT NULL THEN 'reclaim' END) AS cancel_reason
    FROM public.leases l
    JOIN public.shares s ON s.id = l.share_id
    LEFT JOIN public.queues q ON q.id = l.queue_id
    LEFT JOIN public.tasks t ON t.id = l.task_id;

-- +goose StatementBegin
DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'divvy_reader') THEN
        GRANT SELECT ON report.reclaims TO divvy_reader;
    END IF;
END $$;
-- +goose StatementEnd

-- +goose Down
DROP VIEW report.reclaims;
CREATE OR REPLACE VIEW report.leases AS
    SELECT l.job_id, l.attempt, l.task_id, t.user_name, s.path AS share, q.name AS queue, l.cores,
        (l.units / 1000.0)::numeric(20, 3) AS units, l.priority, l.state, l.pilot, l.node, now() - l.claimed_at AS age,
        l.claimed_at, l.started_at, l.expires_at, l.cpu_s AS cpu_seconds, l.memory_mb, l.cancel_reason
    FROM public.leases l
    JOIN public.shares s ON s.id = l.share_id
    LEFT JOIN public.queues q ON q.id = l.queue_id
    LEFT JOIN public.tasks t ON t.id = l.task_id;
DROP TABLE reclaims;
ALTER TABLE attempts DROP COLUMN said;
ALTER TABLE leases DROP COLUMN told_at, DROP COLUMN reclaim_grace_s;
