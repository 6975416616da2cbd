-- What pilots report of an attempt beside outcome, usage and outputs.

-- +goose Up
-- A renewal that brings a report writes it here and not into leases: a lease stays narrow, and its renewals HOT. A lease
-- that has a row here says so, so that an end looks for it only then.
CREATE TABLE lease_reports (
    job_id  bigint PRIMARY KEY,
    attempt int    NOT NULL,
    report  jsonb  NOT NULL
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
COMMENT ON TABLE lease_reports IS 'What was reported of attempts that run; it goes into attempts.report when they end.';
COMMENT ON INDEX lease_reports_pkey IS 'By job: renewals that bring a report, and ends of the leases that have one.';
ALTER TABLE leases ADD COLUMN reported boolean;
COMMENT ON COLUMN leases.reported IS 'Whether lease_reports has a row of it; NULL: no.';
ALTER TABLE attempts ADD COLUMN report jsonb;
COMMENT ON COLUMN attempts.report IS 'What its pilot reported beside the rest, by name, the latest word on each; NULL: nothing.';
-- No statement asks for a value inside of it (00016).
ALTER TABLE attempts ALTER report SET STATISTICS 0;

-- The fields of after over those of before, as long as that is within the bound of a report.
CREATE FUNCTION divvy_merge_reports(before jsonb, after jsonb) RETURNS jsonb
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$
    SELECT CASE
        WHEN before IS NULL OR after IS NULL THEN coalesce(before, after)
        WHEN octet_length((before || after)::text) <= 65536 THEN before || after
        ELSE after || jsonb_build_object('cut', concat_ws('; ', after->>'cut', 'what was reported before is left out: a report has at most 65536 bytes'))
    END
$$;

CREATE OR REPLACE VIEW report.attempts AS
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
COMMENT ON COLUMN report.attempts.report IS 'What else its pilot reported, by name: of PanDA pilots jobMetrics, pilotErrorCode and the like. NULL: nothing.';

-- +goose Down
-- The view keeps its column, empty: views of report only gain some.
CREATE OR REPLACE VIEW report.attempts AS
    SELECT a.job_id, a.attempt, a.task_id, t.user_name, s.path AS share, q.name AS queue, a.cores,
        (a.units / 1000.0)::numeric(20, 3) AS units, a.priority, a.pilot, a.node, a.outcome, a.exit_code, a.message,
        a.claimed_at, a.started_at, a.ended_at,
        a.cores * extract(epoch FROM a.ended_at - a.claimed_at) AS slot_seconds,
        a.units / 1000.0 * extract(epoch FROM a.ended_at - a.claimed_at) AS unit_seconds,
        a.cpu_s AS cpu_seconds, a.memory_mb, a.outputs, NULL::jsonb AS report
    FROM public.attempts a
    LEFT JOIN public.shares s ON s.id = a.share_id
    LEFT JOIN public.queues q ON q.id = a.queue_id
    LEFT JOIN public.tasks t ON t.id = a.task_id;
DROP FUNCTION divvy_merge_reports(jsonb, jsonb);
ALTER TABLE attempts DROP COLUMN report;
ALTER TABLE leases DROP COLUMN reported;
DROP TABLE lease_reports;
