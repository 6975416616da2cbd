-- The live jobs of a task are found by ranges of ids, of which a batch has one for each of its tasks. An entry for each job in an index
-- by task was inserted where the task has its others, which is in the midst: a third of what a generated job cost the indexes.
-- The index goes in a migration of its own: its lock, after this one's, would be waited for crosswise.

-- +goose Up
CREATE TABLE job_ranges (
    task_id bigint NOT NULL,
    low bigint NOT NULL,
    high bigint NOT NULL,
    PRIMARY KEY (task_id, high),
    CHECK (low <= high)
) WITH (autovacuum_vacuum_cost_delay = 0);
COMMENT ON TABLE job_ranges IS 'Between which ids the live jobs of a task are. Those of one task do not overlap; jobs of others may lie between. Ranges of which all jobs have ended go later.';
COMMENT ON COLUMN job_ranges.task_id IS 'Task of the jobs.';
COMMENT ON COLUMN job_ranges.low IS 'The least id, of the range.';
COMMENT ON COLUMN job_ranges.high IS 'The largest id, of the range.';

-- +goose StatementBegin
CREATE FUNCTION note_job_range() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    INSERT INTO public.job_ranges (task_id, low, high) VALUES (NEW.task_id, NEW.id, NEW.id) ON CONFLICT DO NOTHING;
    RETURN NULL;
END
$$;
-- +goose StatementEnd
COMMENT ON FUNCTION note_job_range() IS 'A range of one job, for what makes jobs and does not note ranges: daemons before 00045, and statements by hand.';
CREATE TRIGGER note_job_range AFTER INSERT ON jobs
    FOR EACH ROW WHEN (current_setting('divvy.job_ranges', true) IS DISTINCT FROM 'noted')
    EXECUTE FUNCTION note_job_range();

-- The trigger keeps others from making jobs until this is done: a range goes on over gaps of less than a hundred ids.
INSERT INTO job_ranges (task_id, low, high)
SELECT task_id, min(id), max(id)
FROM (
    SELECT task_id, id, count(*) FILTER (WHERE gap) OVER (PARTITION BY task_id ORDER BY id) AS nth
    FROM (
        SELECT task_id, id, id - lag(id) OVER (PARTITION BY task_id ORDER BY id) > 100 AS gap FROM jobs
    ) along
) ranges
GROUP BY task_id, nth;

CREATE VIEW report.task_jobs AS
    SELECT j.id AS job_id, r.task_id, s.path AS share,
        CASE WHEN l.job_id IS NOT NULL THEN 'leased' ELSE j.state END AS state,
        j.priority, j.attempt, j.max_attempts, j.idx AS index, j.retry_of, q.name AS queue, l.pilot, j.created_at, NULL::timestamptz AS ended_at
    FROM job_ranges r
    CROSS JOIN LATERAL (
        SELECT * FROM jobs i WHERE i.id >= r.low AND i.id <= r.high AND i.task_id = r.task_id ORDER BY i.id
    ) j
    JOIN shares s ON s.id = j.share_id
    LEFT JOIN leases l ON l.job_id = j.id
    LEFT JOIN queues q ON q.id = l.queue_id
    UNION ALL
    SELECT e.id, e.task_id, s.path, e.state, e.priority, e.attempt, e.max_attempts, e.idx, e.retry_of, NULL, NULL, e.created_at, e.ended_at
    FROM ended_jobs e
    LEFT JOIN shares s ON s.id = e.share_id;
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
COMMENT ON VIEW report.jobs IS 'Every job, live or ended. Restrict it by job_id: there may be very many. Those of a task are found sooner in report.task_jobs.';

-- +goose Down
COMMENT ON VIEW report.jobs IS 'Every job, live or ended. Restrict it by task_id or job_id: there may be very many.';
DROP VIEW report.task_jobs;
DROP TRIGGER note_job_range ON jobs;
DROP FUNCTION note_job_range();
DROP TABLE job_ranges;
