-- What becomes of attempts that did not finish: jobs that wait to be judged or until they are tried again, and the terms
-- of tasks. Written by package dispatcher.

-- +goose Up
CREATE TABLE retries (
    job_id  bigint      NOT NULL PRIMARY KEY,
    attempt int         NOT NULL,
    due_at  timestamptz NOT NULL DEFAULT now(),
    judged  boolean     NOT NULL DEFAULT false,
    split   boolean     NOT NULL DEFAULT false
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
COMMENT ON TABLE retries IS 'Waiting jobs whose last attempt failed or was lost, where that is to be judged or they are tried again later. Others are ready again at once and never here. A row without such a job is one of a job that was killed meanwhile.';
COMMENT ON COLUMN retries.attempt IS 'The attempt that ended.';
COMMENT ON COLUMN retries.due_at IS 'When something is to be done: judged, or ready again.';
COMMENT ON INDEX retries_pkey IS 'Whether a job waits here; a resumed task leaves such jobs alone.';
COMMENT ON COLUMN retries.split IS 'Its piece is to become two before it is ready again; the generator does that.';
CREATE INDEX retries_due ON retries (due_at, job_id) WHERE NOT split;
COMMENT ON INDEX retries_due IS 'What is due.';
CREATE INDEX retries_split ON retries (job_id) WHERE split;
COMMENT ON INDEX retries_split IS 'What is to be split; nearly always empty.';

ALTER TABLE payloads ADD COLUMN retry jsonb;
COMMENT ON COLUMN payloads.retry IS 'Terms of the task for attempts that do not finish: max_failures, backoff_s, max_backoff_s, quarantine_after; NULL: none.';

ALTER TABLE attempts ADD COLUMN judged text;
COMMENT ON COLUMN attempts.judged IS 'What was made of an attempt that did not finish, where a rule or the terms of its task said so; NULL: its job was tried again at once, or was over.';
-- No statement asks for a value inside of it (00016).
ALTER TABLE attempts ALTER judged SET STATISTICS 0;

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

-- Second halves of pieces that were split since their jobs failed. Written by package generator under the task's row lock.
CREATE TABLE halves (
    task_id bigint  NOT NULL,
    idx     bigint  NOT NULL CHECK (idx >= 1000000000000),
    piece   bigint  NOT NULL CHECK (piece BETWEEN 0 AND 999999999999),
    again   boolean NOT NULL,
    job_id  bigint  NOT NULL,
    PRIMARY KEY (task_id, idx)
);
COMMENT ON COLUMN halves.idx IS 'Index of the half; indexes of pieces as they were cut are smaller.';
COMMENT ON COLUMN halves.piece IS 'Index of the piece that it is a part of, as that was cut.';
COMMENT ON COLUMN halves.again IS 'The piece had been over once, and was tried again, before it was split.';
COMMENT ON COLUMN halves.job_id IS 'The job that has the first half.';
CREATE INDEX halves_piece ON halves (task_id, piece);
COMMENT ON INDEX halves_piece IS 'Tasks whose pieces wait for this one ask whether all of it is over.';
ALTER TABLE tasks ADD COLUMN n_halves bigint;
COMMENT ON COLUMN tasks.n_halves IS 'Of its pieces, how many are second halves of others; NULL: none. n_pieces, n_split and n_released have them.';

CREATE TABLE black_holes (
    queue_id  int         NOT NULL PRIMARY KEY,
    since     timestamptz NOT NULL DEFAULT now(),
    ends      int         NOT NULL,
    fails     int         NOT NULL,
    good      int         NOT NULL DEFAULT 0,
    bad_at    timestamptz NOT NULL DEFAULT now(),
    probed_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE black_holes IS 'Queues that fail nearly all that they get, while other queues do not: they get a job from time to time, until these finish.';
COMMENT ON COLUMN black_holes.ends IS 'Attempts that had ended there lately when it was found, at the daemon that found it; fails: of these, that failed or were lost.';
COMMENT ON COLUMN black_holes.good IS 'Attempts that finished there since the last one that did not.';
COMMENT ON COLUMN black_holes.bad_at IS 'When an attempt there failed or was lost last.';
COMMENT ON COLUMN black_holes.probed_at IS 'When a daemon took the turn to give it a job last.';
COMMENT ON INDEX black_holes_pkey IS 'Nearly always empty.';

-- +goose Down
DROP TABLE black_holes;
ALTER TABLE tasks DROP COLUMN n_halves;
DROP TABLE halves;
DROP VIEW report.judgements;
ALTER TABLE attempts DROP COLUMN judged;
ALTER TABLE payloads DROP COLUMN retry;
UPDATE jobs SET state = 'ready' WHERE id IN (SELECT job_id FROM retries) AND state = 'waiting';
DROP TABLE retries;
