-- Jobs: their facts, what is on its way into the log, and what rules said of those that failed. One writer: dispatcher. What becomes of
-- jobs is folded out of the log: 00004.

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
    locations  text[],
    locality   text   CHECK (locality IN ('required', 'preferred')),
    CONSTRAINT shapes_locations_check CHECK ((locations IS NULL) = (locality IS NULL) AND cardinality(locations) <> 0)
);
COMMENT ON TABLE shapes IS 'Requirements of jobs, interned: a million jobs of one task share one row.';
COMMENT ON COLUMN shapes.key IS 'Equal requirements have one row.';
COMMENT ON COLUMN shapes.queues IS 'Selectors: names, globs or labels; empty: any queue.';
COMMENT ON COLUMN shapes.resources IS 'Units by name.';
COMMENT ON COLUMN shapes.sharing_id IS 'Whose part of the resources; empty where it asks for none.';
COMMENT ON COLUMN shapes.locations IS 'Storages that have the inputs, sorted; NULL: any.';

CREATE TABLE payloads (
    task_id bigint PRIMARY KEY,
    command text[] NOT NULL,
    env     jsonb  NOT NULL,
    matrix  jsonb  NOT NULL,
    roles   jsonb,
    retry   jsonb
);
COMMENT ON TABLE payloads IS 'What the jobs of a task run: the template into which the piece of a job is put.';
COMMENT ON COLUMN payloads.roles IS 'Commands of roles that have their own.';
COMMENT ON COLUMN payloads.retry IS 'Terms of the task for attempts that do not finish; NULL: none.';

CREATE SEQUENCE job_ids AS bigint;
COMMENT ON SEQUENCE job_ids IS 'Ids of jobs: taken by divvy_take_ids alone. No cache, so that they rise with time.';
-- +goose StatementBegin
CREATE FUNCTION divvy_take_ids(n bigint) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'public', 'pg_temp'
    AS $$
DECLARE
    first bigint;
BEGIN
    IF n IS NULL OR n < 1 THEN
        RAISE EXCEPTION 'divvy_take_ids(%): want 1 id or more', n;
    END IF;
    PERFORM pg_advisory_lock(1685454861, 0);
    first := nextval('job_ids');
    IF n > 1 THEN
        PERFORM setval('job_ids', first + n - 1);
    END IF;
    PERFORM pg_advisory_unlock(1685454861, 0);
    RETURN first;
EXCEPTION WHEN OTHERS OR query_canceled THEN
    PERFORM pg_advisory_unlock(1685454861, 0);
    RAISE;
END $$;
-- +goose StatementEnd
COMMENT ON FUNCTION divvy_take_ids IS 'Takes n ids that follow each other, and returns the first.';

CREATE TABLE job_blocks (
    low          bigint      NOT NULL,
    high         bigint      NOT NULL CHECK (low <= high),
    task_id      bigint      NOT NULL,
    made_at      timestamptz NOT NULL DEFAULT now(),
    share_id     int         NOT NULL,
    shape_id     int         NOT NULL,
    priority     int         NOT NULL,
    max_attempts int         NOT NULL CHECK (max_attempts >= 1),
    again        boolean     NOT NULL,
    PRIMARY KEY (low)
) PARTITION BY RANGE (low);
COMMENT ON TABLE job_blocks IS 'What jobs have in common that were made together: a row for ids that follow each other. Every job of jobs has one.';
COMMENT ON COLUMN job_blocks.share_id IS 'To which they were last moved; what a lease counts for is in the log.';
COMMENT ON COLUMN job_blocks.shape_id IS 'As of making.';
COMMENT ON COLUMN job_blocks.priority IS 'As of now.';
COMMENT ON COLUMN job_blocks.again IS 'They try pieces again of jobs that are over.';
COMMENT ON INDEX job_blocks_pkey IS 'The block of a job: the last one whose low is not above its id.';
CREATE INDEX job_blocks_task ON job_blocks (task_id, low);
COMMENT ON INDEX job_blocks_task IS 'The jobs of a task.';
CREATE INDEX job_blocks_share ON job_blocks (share_id, low);
COMMENT ON INDEX job_blocks_share IS 'For the moves of a share, and for places that its aging makes anew.';

CREATE TABLE jobs (
    id          bigint NOT NULL,
    idx         bigint NOT NULL,
    first_event bigint,
    n_events    bigint,
    retry_of    bigint,
    inputs      text[],
    claims      bigint[],
    PRIMARY KEY (id)
) PARTITION BY RANGE (id);
COMMENT ON TABLE jobs IS 'A row a job, live or over, that nothing changes but a split of its piece: all else is in the log. At most eight columns, so that the bitmap of NULLs costs nothing.';
COMMENT ON COLUMN jobs.idx IS 'Of the piece of the task.';
COMMENT ON COLUMN jobs.first_event IS 'Of a job that runs events: the first one.';
COMMENT ON COLUMN jobs.n_events IS 'And how many.';
COMMENT ON COLUMN jobs.retry_of IS 'The job whose piece it tries again.';
COMMENT ON COLUMN jobs.claims IS 'That it holds while it has a lease.';
COMMENT ON INDEX jobs_pkey IS 'By id: grants, lists. 22 bytes a job: ids grow.';
ALTER TABLE jobs ALTER inputs SET STATISTICS 0;
-- +goose StatementBegin
CREATE FUNCTION divvy_extend_jobs(room bigint, size bigint) RETURNS int
    LANGUAGE plpgsql
    SET lock_timeout TO '200ms'
    SET search_path TO 'public', 'pg_temp'
    AS $$
DECLARE
    newest bigint; -- id that was taken
    bound  bigint; -- the first id that has no partition
    made   int := 0;
    parent text;
BEGIN
    -- One at a time; COPYs and reads go on beside it.
    LOCK TABLE ONLY job_blocks IN SHARE UPDATE EXCLUSIVE MODE;
    SELECT CASE WHEN is_called THEN last_value ELSE 0 END INTO newest FROM job_ids;
    SELECT coalesce(max(substring(pg_get_expr(c.relpartbound, c.oid) FROM 'TO \(''(\d+)''\)')::bigint), newest + 1) INTO bound
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = 'job_blocks'::regclass;
    -- Ids that were left out, as after a restore, have no partitions.
    bound := greatest(bound, newest + 1);
    -- Ids that were skipped, as after an old backup was put back, need no partitions: that would be thousands.
    IF newest - bound > 100 * size THEN
        bound := newest + 1;
    END IF;
    WHILE bound - 1 - newest < room LOOP
        FOREACH parent IN ARRAY ARRAY['jobs', 'job_blocks'] LOOP
            -- Made beside the table and then attached: that keeps nobody waiting.
            EXECUTE format('CREATE TABLE %s_%s (LIKE %s INCLUDING ALL)', parent, bound, parent);
            EXECUTE format('ALTER TABLE %s ATTACH PARTITION %s_%s FOR VALUES FROM (%s) TO (%s)', parent, parent, bound, bound, bound + size);
        END LOOP;
        bound := bound + size;
        made := made + 1;
    END LOOP;
    RETURN made;
END $$;
-- +goose StatementEnd
COMMENT ON FUNCTION divvy_extend_jobs IS 'Partitions for the next ids.';
-- +goose StatementBegin
CREATE FUNCTION divvy_drop_jobs(low bigint, high bigint) RETURNS void
    LANGUAGE plpgsql
    SET lock_timeout TO '200ms'
    SET search_path TO 'public', 'pg_temp'
    AS $$
DECLARE
    next bigint;
BEGIN
    EXECUTE format('LOCK TABLE job_blocks_%s IN ACCESS EXCLUSIVE MODE', low);
    SELECT min(substring(pg_get_expr(c.relpartbound, c.oid) FROM 'FROM \(''(\d+)''\)')::bigint) INTO next
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = 'job_blocks'::regclass
        AND substring(pg_get_expr(c.relpartbound, c.oid) FROM 'FROM \(''(\d+)''\)')::bigint > divvy_drop_jobs.high;
    INSERT INTO job_blocks (low, high, task_id, made_at, share_id, shape_id, priority, max_attempts, again)
    SELECT next, b.high, b.task_id, b.made_at, b.share_id, b.shape_id, b.priority, b.max_attempts, b.again
    FROM job_blocks b
    WHERE b.low BETWEEN divvy_drop_jobs.low AND divvy_drop_jobs.high AND b.high >= next;
    EXECUTE format('DROP TABLE jobs_%s', low);
    EXECUTE format('DROP TABLE job_blocks_%s', low);
END $$;
-- +goose StatementEnd
COMMENT ON FUNCTION divvy_drop_jobs IS 'Drops the partitions with ids from low on, of jobs and of blocks.';

CREATE TABLE outbox (
    id      bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    made_at timestamptz NOT NULL DEFAULT now(),
    entries jsonb       NOT NULL,
    refused text
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);
COMMENT ON TABLE outbox IS 'Entries that the log shall have. The leader appends them and deletes the row in one transaction.';
COMMENT ON COLUMN outbox.refused IS 'Why the machine did not take them; NULL: it was not asked yet.';
COMMENT ON INDEX outbox_pkey IS 'The order in which rows are taken. Nearly always empty.';

CREATE TABLE placings (
    share_id int    PRIMARY KEY,
    aging    jsonb,
    after    bigint
);
COMMENT ON TABLE placings IS 'The aging by which the jobs of a share have their places. A share without a row has none, and never had.';
COMMENT ON COLUMN placings.aging IS 'NULL: it has none.';
COMMENT ON COLUMN placings.after IS 'Blocks up to this one have their places by it; NULL: all have.';

CREATE TABLE scaled_away (
    task_id bigint NOT NULL,
    low     bigint NOT NULL,
    high    bigint NOT NULL CHECK (low <= high),
    PRIMARY KEY (task_id, low)
);
COMMENT ON TABLE scaled_away IS 'Jobs that their task does not want any more since it was scaled down: their pieces are not tried again, and other jobs may have their names.';

CREATE TABLE splittings (
    job_id   bigint PRIMARY KEY,
    task_id  bigint NOT NULL,
    shape_id int    NOT NULL,
    attempt  int    NOT NULL
);
COMMENT ON TABLE splittings IS 'Jobs that wait until their piece has become two. The leader adds them in the transaction that appends the end which said so.';
COMMENT ON COLUMN splittings.shape_id IS 'That it has from now on.';
COMMENT ON COLUMN splittings.attempt IS 'The next one.';

CREATE TABLE retries (
    job_id   bigint      NOT NULL,
    task_id  bigint      NOT NULL,
    due_at   timestamptz NOT NULL,
    attempt  int         NOT NULL,
    shape_id int         NOT NULL,
    split    boolean     NOT NULL,
    PRIMARY KEY (job_id)
) WITH (fillfactor = 90);
COMMENT ON TABLE retries IS 'Jobs that wait for a time; the last attempt of each is judged.';
COMMENT ON COLUMN retries.due_at IS 'When it is ready, or its piece is to be split.';
COMMENT ON COLUMN retries.attempt IS 'That ended.';
COMMENT ON COLUMN retries.shape_id IS 'That it has from then on.';
COMMENT ON INDEX retries_pkey IS 'Whether a job waits here, and until when.';
CREATE INDEX retries_due ON retries (due_at, job_id);
COMMENT ON INDEX retries_due IS 'The jobs whose time comes next.';

CREATE TABLE judged (
    only_row boolean     PRIMARY KEY DEFAULT true CHECK (only_row),
    at       timestamptz NOT NULL,
    job      bigint      NOT NULL
) WITH (fillfactor = 10);
COMMENT ON TABLE judged IS 'Up to which attempt of history it is decided what becomes of jobs that wait: one row, which is the lock of whoever decides.';
COMMENT ON COLUMN judged.at IS 'End of the attempt.';
INSERT INTO judged (at, job) VALUES ('epoch', 0);

CREATE TABLE black_holes (
    queue_id int         PRIMARY KEY,
    since    timestamptz NOT NULL DEFAULT now(),
    ends     int         NOT NULL,
    fails    int         NOT NULL,
    good     int         NOT NULL DEFAULT 0,
    bad_at   timestamptz NOT NULL DEFAULT now(),
    probe_s  int         NOT NULL
);
COMMENT ON TABLE black_holes IS 'Queues that fail nearly all that they get while other queues do not. They get a job now and then, until these finish.';
COMMENT ON COLUMN black_holes.ends IS 'Attempts that had ended there when it was found.';
COMMENT ON COLUMN black_holes.fails IS 'Those of them that failed or were lost.';
COMMENT ON COLUMN black_holes.good IS 'Attempts that finished since the last one that did not.';
COMMENT ON COLUMN black_holes.bad_at IS 'When an attempt there last failed or was lost.';
COMMENT ON COLUMN black_holes.probe_s IS 'How often it gets a job, as the log has it.';
COMMENT ON INDEX black_holes_pkey IS 'Nearly always empty.';

CREATE TABLE reclaims (
    job_id     bigint           NOT NULL,
    attempt    int              NOT NULL,
    nonce      bigint           NOT NULL,
    units      bigint           NOT NULL CHECK (units > 0),
    ordered_at timestamptz      NOT NULL DEFAULT now(),
    closed_at  timestamptz,
    lost       double precision CHECK (lost >= 0),
    claimer_id int              NOT NULL,
    victim_id  int              NOT NULL,
    plan_id    int              NOT NULL,
    grace_s    int              NOT NULL CHECK (grace_s >= 0),
    pool       text             NOT NULL,
    outcome    text,
    PRIMARY KEY (job_id, attempt),
    CHECK (outcome IS NULL OR closed_at IS NOT NULL)
);
COMMENT ON TABLE reclaims IS 'Orders to attempts to give their units back. Rows are closed when the lease is seen to be gone, and dropped after a week.';
COMMENT ON COLUMN reclaims.units IS 'Thousandths.';
COMMENT ON COLUMN reclaims.lost IS 'Units times seconds that a returned attempt had held.';
COMMENT ON COLUMN reclaims.claimer_id IS 'The share that asked for the units.';
COMMENT ON COLUMN reclaims.victim_id IS 'The share that gives them.';
COMMENT ON COLUMN reclaims.plan_id IS 'The share whose plan has the reclaim: the claimer or one above. The rate counts by it.';
COMMENT ON COLUMN reclaims.outcome IS 'Of the attempt; anything but revoked: it ended before the order took effect.';
CREATE INDEX reclaims_open ON reclaims (job_id) WHERE closed_at IS NULL;
COMMENT ON INDEX reclaims_open IS 'What is not settled yet; mostly empty.';
CREATE INDEX reclaims_ordered ON reclaims (ordered_at);
COMMENT ON INDEX reclaims_ordered IS 'Orders of the last minutes, for the rate; of more than a week ago, to drop them.';

-- +goose Down
DROP TABLE reclaims, black_holes, judged, retries, splittings, scaled_away, placings, outbox, jobs, job_blocks, payloads, shapes;
DROP FUNCTION divvy_drop_jobs, divvy_extend_jobs, divvy_take_ids;
DROP SEQUENCE job_ids;
