-- Deadlines of tasks, and when they will be over by what has been seen of them. One writer: generator.

-- +goose Up
CREATE TABLE task_deadlines (
    task_id   bigint      PRIMARY KEY,
    deadline  timestamptz NOT NULL,
    boost     int         NOT NULL DEFAULT 0 CHECK (boost >= 0),
    boosted   int         NOT NULL DEFAULT 0 CHECK (boosted BETWEEN 0 AND boost),
    late_risk text        NOT NULL DEFAULT 'unknown' CHECK (late_risk IN ('unknown', 'low', 'high', 'late', 'met', 'missed')),
    over      boolean     NOT NULL DEFAULT false,
    seen_at   timestamptz,
    n_ended   bigint      NOT NULL DEFAULT 0,
    per_s     double precision,
    eta       timestamptz
) WITH (fillfactor = 50);
COMMENT ON TABLE task_deadlines IS 'Tasks that have a deadline. Forecast looks at those that are not over, every half minute.';
COMMENT ON COLUMN task_deadlines.boosted IS 'How much priority it has gained since it was likely to be late: all of boost, once, or nothing.';
COMMENT ON COLUMN task_deadlines.per_s IS 'Jobs of it that end a second, as of seen_at: a mean that forgets within an hour.';
CREATE INDEX task_deadlines_live ON task_deadlines (coalesce(seen_at, '-infinity')) WHERE NOT over;

CREATE VIEW report.deadlines AS
SELECT d.task_id, t.name, t.user_name, s.path AS share, t.state, d.deadline, d.eta, d.late_risk, d.per_s * 3600 AS jobs_per_hour,
    greatest(t.n_jobs - t.n_finished - t.n_failed - t.n_cancelled, 0) AS jobs_left, d.boost, d.boosted, d.seen_at
FROM task_deadlines d
JOIN tasks t ON t.id = d.task_id
LEFT JOIN shares s ON s.id = t.share_id;
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

-- +goose Down
DROP VIEW report.deadlines;
DROP TABLE task_deadlines;
