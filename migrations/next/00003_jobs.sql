-- Jobs: their facts, and what is on its way into the log. One writer: dispatcher. What becomes of jobs is folded out of the log: 00004.

-- +goose Up
CREATE TABLE shapes (
    id         int    GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    key        bytea  NOT NULL UNIQUE,
    cores      int    NOT NULL CHECK (cores > 0),
    memory_mb  bigint NOT NULL CHECK (memory_mb >= 0),
    disk_mb    bigint NOT NULL CHECK (disk_mb >= 0),
    walltime_s bigint NOT NULL CHECK (walltime_s >= 0),
    labels     jsonb  NOT NULL,
    queues     text[] NOT NULL,
    label      text   NOT NULL DEFAULT '',
    resources  jsonb  NOT NULL DEFAULT '{}',
    sharing_id text   NOT NULL DEFAULT '',
    claims     jsonb,
    locations  text[],
    locality   text   CHECK (locality IN ('required', 'preferred')),
    CONSTRAINT shapes_locations_check CHECK ((locations IS NULL) = (locality IS NULL) AND cardinality(locations) <> 0)
);
COMMENT ON TABLE shapes IS 'Requirements of jobs, interned: a million jobs of one task share one row.';
COMMENT ON COLUMN shapes.key IS 'Identifies the requirements: equal ones have one row.';
COMMENT ON COLUMN shapes.queues IS 'Selectors: queue names, globs (gpu-*) or label selectors (os=el9); empty: any queue.';
COMMENT ON COLUMN shapes.label IS 'Label of the task; empty: none.';
COMMENT ON COLUMN shapes.resources IS 'Units of resources that a job holds, by name, as in {"maya": 1, "table:orders": 1}.';
COMMENT ON COLUMN shapes.sharing_id IS 'The party whose part of the resources the job uses: its user unless the task says otherwise; empty where it asks for none.';
COMMENT ON COLUMN shapes.claims IS 'Of jobs with claims: where the bound ones are, and what the others need; NULL: no claims.';
COMMENT ON COLUMN shapes.locations IS 'Storages that have the inputs of a job, sorted; NULL: any.';
COMMENT ON COLUMN shapes.locality IS 'required: only queues with one of the locations run it; preferred: they come first. NULL: no locations.';

CREATE TABLE payloads (
    task_id bigint PRIMARY KEY,
    command text[] NOT NULL,
    env     jsonb  NOT NULL,
    matrix  jsonb  NOT NULL,
    roles   jsonb,
    retry   jsonb
);
COMMENT ON TABLE payloads IS 'What the jobs of a task run: the template into which the piece of a job is put.';
COMMENT ON COLUMN payloads.roles IS 'Commands of roles that have their own, by group/role or role. The name of a job is its first input.';
COMMENT ON COLUMN payloads.retry IS 'Terms of the task for attempts that do not finish: max_failures, backoff_s, max_backoff_s, quarantine_after; NULL: none.';

-- Ids are taken in blocks, so the next one is not what a nextval returns, but what divvy_take_ids does.
CREATE SEQUENCE jobs_id_seq;
-- A session's lock, for a sequence is outside of transactions too: whoever takes the next block does not wait for a commit. Ids of a
-- transaction that fails are never given, which does no harm.
-- +goose StatementBegin
CREATE FUNCTION divvy_take_ids(n bigint) RETURNS bigint
LANGUAGE plpgsql SET search_path = public, pg_temp
AS $$
DECLARE
    low bigint;
BEGIN
    IF n < 1 THEN
        RAISE invalid_parameter_value USING MESSAGE = format('divvy_take_ids(%s): a block has one id at least', n);
    END IF;
    PERFORM pg_advisory_lock('jobs_id_seq'::regclass::oid::int, 0);
    low := nextval('jobs_id_seq');
    IF n > 1 THEN
        PERFORM setval('jobs_id_seq', low + n - 1);
    END IF;
    PERFORM pg_advisory_unlock('jobs_id_seq'::regclass::oid::int, 0);
    RETURN low;
END $$;
-- +goose StatementEnd
COMMENT ON FUNCTION divvy_take_ids IS 'Takes n ids of jobs that follow each other, and returns the first.';

-- The facts of a job never change after it was made, so they are written once, without free space in their pages.
CREATE TABLE job_blocks (
    low          bigint      PRIMARY KEY,
    high         bigint      NOT NULL,
    task_id      bigint      NOT NULL,
    share_id     int         NOT NULL,
    shape_id     int         NOT NULL,
    priority     int         NOT NULL,
    max_attempts int         NOT NULL CHECK (max_attempts >= 1),
    made_at      timestamptz NOT NULL DEFAULT now(),
    CHECK (low <= high)
) WITH (autovacuum_vacuum_insert_scale_factor = 0.5);
COMMENT ON TABLE job_blocks IS 'Ranges of ids of jobs that were made together and have these facts in common. Each id from low to high is a job; blocks do not overlap.';
COMMENT ON COLUMN job_blocks.low IS 'The smallest id.';
COMMENT ON COLUMN job_blocks.high IS 'The largest id.';
COMMENT ON COLUMN job_blocks.share_id IS 'Share, as of making, like shape_id and priority: a task may be moved or prioritised later.';
COMMENT ON COLUMN job_blocks.max_attempts IS 'Attempts that each of the jobs may have.';
COMMENT ON INDEX job_blocks_pkey IS 'The block of a job: the last one whose low is not above its id.';
CREATE INDEX job_blocks_task ON job_blocks (task_id, high);
COMMENT ON INDEX job_blocks_task IS 'The jobs of a task, in order of their ids.';

-- Without foreign keys, which would be three quarters of the time of a COPY. Partitions are ranges of ids: old ones go as a whole.
CREATE TABLE jobs (
    id          bigint   NOT NULL,
    idx         bigint   NOT NULL,
    inputs      text[],
    first_event bigint,
    n_events    bigint,
    retry_of    bigint,
    claims      bigint[],
    PRIMARY KEY (id)
) PARTITION BY RANGE (id);
COMMENT ON TABLE jobs IS 'What each job is: rows are never changed. Where it stands is folded out of the log.';
COMMENT ON COLUMN jobs.idx IS 'Index of the piece of the task.';
COMMENT ON COLUMN jobs.first_event IS 'Of a job that runs events: the first one, and how many.';
COMMENT ON COLUMN jobs.retry_of IS 'The job whose piece it tries again; NULL: it is a first try.';
COMMENT ON COLUMN jobs.claims IS 'Claims that the job holds while it has a lease; NULL: none.';
COMMENT ON INDEX jobs_pkey IS 'By id: grants, lists. 22 bytes a job: ids grow.';
ALTER TABLE jobs ALTER inputs SET STATISTICS 0;

-- +goose StatementBegin
CREATE FUNCTION divvy_extend_jobs(room bigint, size bigint) RETURNS int
LANGUAGE plpgsql SET lock_timeout = '200ms' SET search_path = public, pg_temp
AS $$
DECLARE
    newest bigint;
    bound  bigint; -- the first id that has no partition
    made   int := 0;
BEGIN
    LOCK TABLE ONLY jobs IN SHARE UPDATE EXCLUSIVE MODE; -- one at a time; reads and COPYs go on beside it
    SELECT CASE WHEN is_called THEN last_value ELSE 0 END INTO newest FROM jobs_id_seq;
    SELECT coalesce(max(substring(pg_get_expr(c.relpartbound, c.oid) FROM 'TO \(''(\d+)''\)')::bigint), newest + 1) INTO bound
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = 'jobs'::regclass;
    WHILE bound - 1 - newest < room LOOP
        EXECUTE format('CREATE TABLE jobs_%s (LIKE jobs INCLUDING ALL) WITH (autovacuum_vacuum_insert_scale_factor = 0.5, autovacuum_freeze_min_age = 0)', bound);
        EXECUTE format('ALTER TABLE jobs ATTACH PARTITION jobs_%s FOR VALUES FROM (%s) TO (%s)', bound, bound, bound + size);
        bound := bound + size;
        made := made + 1;
    END LOOP;
    RETURN made;
END $$;
-- +goose StatementEnd
COMMENT ON FUNCTION divvy_extend_jobs IS 'Makes partitions of jobs, of size ids each, until there is room for so many more ids; returns how many it made.';

CREATE TABLE outbox (
    id      bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    entries jsonb       NOT NULL,
    made_at timestamptz NOT NULL DEFAULT now(),
    refused text
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
COMMENT ON TABLE outbox IS 'What transactions have to say to the log, a row each: the leader appends its entries and deletes the row in one transaction.';
COMMENT ON COLUMN outbox.entries IS 'Entries in the order in which they apply, as package ledger packs them.';
COMMENT ON COLUMN outbox.refused IS 'Why the leader did not take it; NULL: it is to be taken.';
COMMENT ON INDEX outbox_pkey IS 'The order in which rows are taken. Nearly always empty.';

CREATE TABLE retries (
    job_id  bigint      PRIMARY KEY,
    attempt int         NOT NULL,
    due_at  timestamptz NOT NULL DEFAULT now(),
    judged  boolean     NOT NULL DEFAULT false,
    split   boolean     NOT NULL DEFAULT false
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
COMMENT ON TABLE retries IS 'Waiting jobs whose last attempt failed or was lost, where a rule is to judge it or they are tried again later. Others are ready again at once and never here. A row without such a job is of one that was killed meanwhile.';
COMMENT ON COLUMN retries.attempt IS 'The attempt that ended.';
COMMENT ON COLUMN retries.due_at IS 'When the attempt is to be judged, or the job is ready again.';
COMMENT ON COLUMN retries.judged IS 'The rules have judged the attempt.';
COMMENT ON COLUMN retries.split IS 'Its piece is to become two before the job is ready again; the generator does that.';
COMMENT ON INDEX retries_pkey IS 'Whether a job waits here, and until when.';
CREATE INDEX retries_due ON retries (due_at, job_id) WHERE NOT split;
COMMENT ON INDEX retries_due IS 'What is due.';
CREATE INDEX retries_split ON retries (job_id) WHERE split;
COMMENT ON INDEX retries_split IS 'What is to be split; nearly always empty.';

CREATE TABLE black_holes (
    queue_id  int         PRIMARY KEY,
    since     timestamptz NOT NULL DEFAULT now(),
    ends      int         NOT NULL,
    fails     int         NOT NULL,
    good      int         NOT NULL DEFAULT 0,
    bad_at    timestamptz NOT NULL DEFAULT now(),
    probed_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE black_holes IS 'Queues that fail nearly all that they get while other queues do not. They get a job from time to time, until these finish.';
COMMENT ON COLUMN black_holes.ends IS 'Recent attempts that had ended there when a daemon found it; fails: those of them that failed or were lost.';
COMMENT ON COLUMN black_holes.good IS 'Attempts that finished there since the last one that did not.';
COMMENT ON COLUMN black_holes.bad_at IS 'When an attempt there last failed or was lost.';
COMMENT ON COLUMN black_holes.probed_at IS 'When a daemon last took the turn to give it a job.';
COMMENT ON INDEX black_holes_pkey IS 'Nearly always empty.';

CREATE TABLE reclaims (
    job_id     bigint           NOT NULL,
    attempt    int              NOT NULL,
    nonce      bigint           NOT NULL,
    pool       text             NOT NULL,
    claimer_id int              NOT NULL,
    victim_id  int              NOT NULL,
    plan_id    int              NOT NULL,
    units      bigint           NOT NULL CHECK (units > 0),
    grace_s    int              NOT NULL CHECK (grace_s >= 0),
    ordered_at timestamptz      NOT NULL DEFAULT now(),
    closed_at  timestamptz,
    outcome    text,
    said       text,
    lost       double precision CHECK (lost >= 0),
    PRIMARY KEY (job_id, attempt),
    CHECK (outcome IS NULL OR closed_at IS NOT NULL)
);
COMMENT ON TABLE reclaims IS 'Orders to leases to give their units back. Rows are closed when the lease is seen to be gone, and dropped after a week.';
COMMENT ON COLUMN reclaims.claimer_id IS 'Share that asked for the units.';
COMMENT ON COLUMN reclaims.victim_id IS 'Share that gives them.';
COMMENT ON COLUMN reclaims.plan_id IS 'Share whose plan has the reclaim: the claimer or an ancestor. The rate counts by it.';
COMMENT ON COLUMN reclaims.units IS 'Thousandths of a unit.';
COMMENT ON COLUMN reclaims.closed_at IS 'When the lease was seen to be gone; NULL: the order is open.';
COMMENT ON COLUMN reclaims.outcome IS 'Outcome of the attempt. Anything but revoked: it ended before the order took effect.';
COMMENT ON COLUMN reclaims.said IS 'How a revoked attempt ended.';
COMMENT ON COLUMN reclaims.lost IS 'Units times seconds from claim to end, of a revoked attempt: what the reclaim cost.';
CREATE INDEX reclaims_open ON reclaims (job_id) WHERE closed_at IS NULL;
COMMENT ON INDEX reclaims_open IS 'What is not settled yet; mostly empty.';
CREATE INDEX reclaims_ordered ON reclaims (ordered_at);
COMMENT ON INDEX reclaims_ordered IS 'Orders of the last minutes, for the rate; of more than a week ago, to drop them.';

-- +goose Down
DROP TABLE reclaims, black_holes, retries, outbox, jobs, job_blocks, payloads, shapes;
DROP FUNCTION divvy_extend_jobs, divvy_take_ids;
DROP SEQUENCE jobs_id_seq;
