-- The log, and what is folded out of it: leases, jobs without one, counts; daemons. One writer: dispatcher; of lineage: migrations.

-- +goose Up
CREATE TABLE daemons (
    id         bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    host       text        NOT NULL,
    pid        int         NOT NULL,
    started_at timestamptz NOT NULL DEFAULT now(),
    seen_at    timestamptz NOT NULL DEFAULT now(),
    closed_at  timestamptz,
    address    text        NOT NULL DEFAULT '',
    secret     text        NOT NULL DEFAULT '',
    version    text        NOT NULL DEFAULT ''
);
COMMENT ON TABLE daemons IS 'One row for each start of a daemon.';
COMMENT ON COLUMN daemons.address IS 'host:port at which other daemons reach it; empty: nowhere.';
COMMENT ON COLUMN daemons.secret IS 'What other daemons must show there; made anew at every start.';
COMMENT ON COLUMN daemons.version IS 'Its release, or the commit that it was built from.';

CREATE TABLE lineage (
    only_row boolean     PRIMARY KEY DEFAULT true CHECK (only_row),
    place    text        NOT NULL,
    since    timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE lineage IS 'Where this database was when a daemon last started. Written by package migrations.';
COMMENT ON COLUMN lineage.place IS 'System identifier of the server, its timeline, the database. Another value: it was restored, copied, or failed over.';

-- Each promotion of a standby begins a new timeline.
-- +goose StatementBegin
CREATE FUNCTION divvy_timeline() RETURNS text
LANGUAGE sql
AS $$ SELECT CASE WHEN NOT pg_is_in_recovery() THEN left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) END $$;
-- +goose StatementEnd
COMMENT ON FUNCTION divvy_timeline IS 'The timeline on which this server writes; NULL on a standby.';

CREATE TABLE batches (
    seq               bigint      PRIMARY KEY CHECK (seq >= 1),
    id                uuid        NOT NULL,
    after             uuid        NOT NULL,
    at                timestamptz NOT NULL,
    by                bigint      NOT NULL,
    kinds             text        NOT NULL,
    granted_jobs      bigint[],
    granted_attempts  int[],
    granted_nonces    bigint[],
    granted_tasks     bigint[],
    granted_shares    int[],
    granted_shapes    int[],
    granted_places    bigint[],
    granted_queues    int[],
    granted_units     bigint[],
    granted_pilots    text[],
    granted_nodes     text[],
    granted_requests  uuid[],
    ended_jobs        bigint[],
    ended_attempts    int[],
    ended_outcomes    text,
    ended_next        text,
    ended_exit_codes  int[],
    ended_cpu_milli   bigint[],
    ended_memory_mb   bigint[],
    started_jobs      bigint[],
    started_attempts  int[],
    started_ttls      int[],
    rare              jsonb[]
) PARTITION BY RANGE (seq);
COMMENT ON TABLE batches IS 'The log: all that was decided, a row a batch, in the order of seq, which has no gaps. Whoever applies the rows from the first on has the state of the dispatcher. An array of one value means that all entries have it; NULL: there is no such entry. report.ledger has a row an entry.';
COMMENT ON COLUMN batches.seq IS 'From 1. A row is inserted by whoever has applied the one before it: the primary key is the fence between daemons.';
COMMENT ON COLUMN batches.id IS 'Drawn by the writer.';
COMMENT ON COLUMN batches.after IS 'The id of the row before; zeros for the first.';
COMMENT ON COLUMN batches.at IS 'Time of the append. It never falls.';
COMMENT ON COLUMN batches.by IS 'The daemon that wrote it.';
COMMENT ON COLUMN batches.kinds IS 'A letter an entry, in their order: g, e, s stand in the columns below, all others in rare.';
COMMENT ON COLUMN batches.granted_nonces IS 'The secrets of tokens of leases.';
COMMENT ON COLUMN batches.granted_units IS 'Thousandths of a unit.';
COMMENT ON COLUMN batches.granted_requests IS 'Of pulls; zeros: the pull had none.';
COMMENT ON COLUMN batches.ended_outcomes IS 'A letter an entry: f finished, x failed, l lost, c cancelled, r returned by order of the dispatcher.';
COMMENT ON COLUMN batches.ended_next IS 'A letter an entry, what becomes of the job: . over, c cancelled whatever the outcome, r ready again, w a rule decides later.';
COMMENT ON COLUMN batches.started_ttls IS 'Seconds for which its renewals ask; 0: the default.';
COMMENT ON COLUMN batches.rare IS 'The entries of all other kinds, in their order.';
COMMENT ON INDEX batches_pkey IS 'Append, reads from a seq on. An entry a batch, not a job.';
-- +goose StatementBegin
CREATE FUNCTION divvy_extend_batches(room bigint, size bigint) RETURNS int
    LANGUAGE plpgsql
    SET lock_timeout TO '200ms'
    SET search_path TO 'public', 'pg_temp'
    AS $$
DECLARE
    newest bigint;
    bound  bigint; -- the first seq that has no partition
    made   int := 0;
BEGIN
    -- One at a time; appends and reads go on beside it.
    LOCK TABLE ONLY batches IN SHARE UPDATE EXCLUSIVE MODE;
    SELECT coalesce(max(seq), 0) INTO newest FROM batches;
    SELECT coalesce(max(substring(pg_get_expr(c.relpartbound, c.oid) FROM 'TO \(''(\d+)''\)')::bigint), newest + 1) INTO bound
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = 'batches'::regclass;
    WHILE bound - 1 - newest < room LOOP
        -- Made beside the table and then attached: that keeps nobody waiting. Rows are dropped with it: no vacuum because of inserts.
        EXECUTE format('CREATE TABLE batches_%s (LIKE batches INCLUDING ALL) WITH (autovacuum_vacuum_insert_threshold = -1, '
            'toast.autovacuum_vacuum_insert_threshold = -1)', bound);
        EXECUTE format('ALTER TABLE batches ATTACH PARTITION batches_%s FOR VALUES FROM (%s) TO (%s)', bound, bound, bound + size);
        bound := bound + size;
        made := made + 1;
    END LOOP;
    RETURN made;
END $$;
-- +goose StatementEnd
COMMENT ON FUNCTION divvy_extend_batches IS 'Makes partitions of the log, of size rows each, until there is room for so many more; returns how many it made.';
-- +goose StatementBegin
CREATE FUNCTION divvy_drop_batches(before timestamptz, folded bigint) RETURNS int
    LANGUAGE plpgsql
    SET lock_timeout TO '200ms'
    SET search_path TO 'public', 'pg_temp'
    AS $$
DECLARE
    oldest regclass;
    last   bigint; -- its last seq
BEGIN
    SELECT c.oid, substring(pg_get_expr(c.relpartbound, c.oid) FROM 'TO \(''(\d+)''\)')::bigint - 1 INTO oldest, last
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = 'batches'::regclass
    ORDER BY 2 LIMIT 1;
    IF last > folded OR NOT EXISTS (SELECT FROM batches WHERE seq = last AND at < before)
        OR NOT EXISTS (SELECT FROM batches WHERE seq > last) THEN
        RETURN 0;
    END IF;
    EXECUTE format('DROP TABLE %s', oldest);
    RETURN 1;
END $$;
-- +goose StatementEnd
COMMENT ON FUNCTION divvy_drop_batches IS 'Drops the oldest partition of the log where all of it is from before a time and folded, and not the newest; returns how many it dropped.';

-- +goose StatementBegin
CREATE FUNCTION divvy_all_gone(gone bigint, wanted bigint) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF gone <> wanted THEN
        RAISE EXCEPTION 'of % rows of the outbox % are there', wanted, gone USING ERRCODE = 'DV001';
    END IF;
    RETURN true;
END $$;
-- +goose StatementEnd
COMMENT ON FUNCTION divvy_all_gone IS 'Lets an append fail as a whole where rows of the outbox are gone that it has the entries of.';

CREATE TABLE folded (
    only_row boolean     PRIMARY KEY DEFAULT true CHECK (only_row),
    seq      bigint      NOT NULL,
    id       uuid        NOT NULL,
    at       timestamptz NOT NULL
) WITH (fillfactor = 10);
COMMENT ON TABLE folded IS 'Up to which batch the tables of this file, claims, history and usage are made: one row.';
COMMENT ON COLUMN folded.id IS 'Of the batch, like at.';
INSERT INTO folded (seq, id, at) VALUES (0, '00000000-0000-0000-0000-000000000000', 'epoch');

CREATE TABLE held (
    job            bigint      NOT NULL,
    nth            bigint      NOT NULL,
    nonce          bigint      NOT NULL,
    task           bigint      NOT NULL,
    place          bigint      NOT NULL,
    units          bigint      NOT NULL,
    granted_at     timestamptz NOT NULL,
    request        uuid        NOT NULL,
    attempt        int         NOT NULL,
    share          int         NOT NULL,
    shape          int         NOT NULL,
    queue          int         NOT NULL,
    start_delay_ms int         NOT NULL,
    ttl_s          int         NOT NULL,
    grace_s        int         NOT NULL,
    pilot          text        NOT NULL,
    node           text        NOT NULL,
    reason         text        NOT NULL,
    PRIMARY KEY (job)
) WITH (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
COMMENT ON TABLE held IS 'The leases that have not ended, as of folded. Those that ended within a step of the fold are never here. Columns of this and the other tables stand by width, so that few bytes are padding.';
COMMENT ON COLUMN held.nth IS 'Where the grant stands in the log: seq of its batch times 2^20, and its place in it.';
COMMENT ON COLUMN held.share IS 'As of the grant, as place: what was said of the job since is in moves.';
COMMENT ON COLUMN held.ttl_s IS 'Seconds that its renewals ask for; 0: the default.';
COMMENT ON COLUMN held.nonce IS 'Random number that fences the lease, together with job and attempt.';
COMMENT ON COLUMN held.place IS 'From where in the order of the share it was taken.';
COMMENT ON COLUMN held.units IS 'Thousandths of a unit: cores x the core power of the queue.';
COMMENT ON COLUMN held.request IS 'Of the pull; zeros: it had none.';
COMMENT ON COLUMN held.start_delay_ms IS 'From the grant until its pilot said that it runs; -1: it has not.';
COMMENT ON COLUMN held.grace_s IS 'Of the order to end.';
COMMENT ON COLUMN held.reason IS 'Of the order to end it alone; empty: there is none, but see kills.';
COMMENT ON INDEX held_pkey IS 'By job: ends, lists of leases.';

CREATE TABLE idle_ranges (
    high    bigint NOT NULL,
    low     bigint NOT NULL CHECK (low <= high),
    task    bigint NOT NULL,
    place   bigint NOT NULL,
    share   int    NOT NULL,
    shape   int    NOT NULL,
    attempt int    NOT NULL,
    state   "char" NOT NULL CHECK (state IN ('r', 'p', 'w')),
    PRIMARY KEY (high)
) WITH (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
COMMENT ON TABLE idle_ranges IS 'The live jobs without a lease, as of folded: ranges of ids that are alike, as long as they can be.';
COMMENT ON COLUMN idle_ranges.attempt IS 'The next one of each job.';
COMMENT ON COLUMN idle_ranges.place IS 'Order inside a share: ascending place, then id. It is -priority, or with aging the value that shares.Aging computes.';
COMMENT ON COLUMN idle_ranges.state IS 'r ready, p paused with its task, w waits for a rule after an attempt that did not finish.';
COMMENT ON INDEX idle_ranges_pkey IS 'The range of a job: the first one whose high is not below its id. Updates of low are HOT.';

CREATE TABLE over_ranges (
    low   bigint      NOT NULL,
    high  bigint      NOT NULL CHECK (low <= high),
    task  bigint      NOT NULL,
    nth   bigint      NOT NULL,
    at    timestamptz NOT NULL,
    state "char"      NOT NULL CHECK (state IN ('c', 'x')),
    PRIMARY KEY (high)
);
COMMENT ON TABLE over_ranges IS 'Jobs that came to an end without a lease, ranges of ids. Those that ended with an attempt are in history.';
COMMENT ON COLUMN over_ranges.nth IS 'Of the entry that said so, as held.nth.';
COMMENT ON COLUMN over_ranges.at IS 'When that was.';
COMMENT ON COLUMN over_ranges.state IS 'c cancelled, x failed: a rule gave it up.';
COMMENT ON INDEX over_ranges_pkey IS 'The range of a job, as of idle_ranges.';
CREATE INDEX over_ranges_at ON over_ranges USING brin (at);
COMMENT ON INDEX over_ranges_at IS 'Old ones, which are dropped.';

CREATE TABLE kills (
    nth     bigint  NOT NULL,
    task    bigint  NOT NULL,
    low     bigint  NOT NULL,
    high    bigint  NOT NULL,
    grace_s int     NOT NULL,
    idle    boolean NOT NULL,
    reason  text    NOT NULL,
    PRIMARY KEY (task, nth)
);
COMMENT ON TABLE kills IS 'Orders that jobs of a task end which had a lease then, a row an entry, kept until the last lease of the task is gone. Of two about a lease the later one counts.';
COMMENT ON COLUMN kills.nth IS 'Of the entry, as held.nth.';
COMMENT ON COLUMN kills.idle IS 'Attempts run to their end and count; their jobs are not tried again.';
COMMENT ON INDEX kills_pkey IS 'Those of a task, in the order of the log.';

CREATE TABLE moves (
    nth        bigint      NOT NULL,
    task       bigint      NOT NULL,
    low        bigint      NOT NULL,
    high       bigint      NOT NULL,
    at         timestamptz NOT NULL,
    place      bigint      NOT NULL,
    from_share int         NOT NULL,
    share      int         NOT NULL,
    running    boolean     NOT NULL,
    PRIMARY KEY (task, nth)
);
COMMENT ON TABLE moves IS 'What was said of jobs while they had a lease, a row an entry, kept until the last lease of the task is gone. It is about leases that were granted before it.';
COMMENT ON COLUMN moves.nth IS 'Of the entry, as held.nth.';
COMMENT ON COLUMN moves.at IS 'From when on leases are charged to share, where running.';
COMMENT ON COLUMN moves.from_share IS 'Jobs of this share; 0: of any.';
COMMENT ON COLUMN moves.share IS 'To which jobs come back, at place; 0: they stay in theirs.';
COMMENT ON INDEX moves_pkey IS 'Those of a task, in the order of the log.';

-- +goose StatementBegin
CREATE FUNCTION divvy_payer(of_task bigint, of_job bigint, of_nth bigint, INOUT payer int)
    LANGUAGE plpgsql
    STABLE
    SET search_path TO 'public', 'pg_temp'
    AS $$
DECLARE
    home int := payer;
    m    moves;
BEGIN
    FOR m IN SELECT * FROM moves WHERE task = of_task AND nth > of_nth AND of_job BETWEEN low AND high AND share <> 0 ORDER BY nth LOOP
        CONTINUE WHEN m.from_share NOT IN (0, home);
        home := m.share;
        IF m.running THEN
            payer := m.share;
        END IF;
    END LOOP;
END $$;
-- +goose StatementEnd
COMMENT ON FUNCTION divvy_payer IS 'Who is charged for a lease now: moves apply in their order.';
-- Views of schema report call it for people who may not read moves.
ALTER FUNCTION divvy_payer SECURITY DEFINER;

CREATE VIEW leases_now AS
SELECT h.job, h.task, h.attempt, CASE WHEN h.task IN (SELECT m.task FROM moves m WHERE m.share <> 0) THEN divvy_payer(h.task, h.job, h.nth, h.share)
        ELSE h.share END AS share,
    h.shape, h.queue, h.units, h.granted_at, h.start_delay_ms, h.pilot, h.node, coalesce(k.reason, h.reason) AS reason,
    coalesce(k.grace_s, h.grace_s) AS grace_s
FROM held h
LEFT JOIN LATERAL (
    SELECT o.reason, o.grace_s FROM kills o
    WHERE o.task = h.task AND h.job BETWEEN o.low AND o.high AND NOT o.idle ORDER BY o.nth DESC LIMIT 1
) k ON true;
COMMENT ON VIEW leases_now IS 'held as people see it: who is charged now, and the order to end, be it of the lease alone or of its task.';

CREATE TABLE paused_tasks (
    task bigint PRIMARY KEY
);
COMMENT ON TABLE paused_tasks IS 'Tasks whose jobs get no slots, those that are ready and those that become so.';

CREATE TABLE task_counts (
    task      bigint      NOT NULL,
    ready     bigint      NOT NULL,
    paused    bigint      NOT NULL,
    held      bigint      NOT NULL,
    waiting   bigint      NOT NULL,
    finished  bigint      NOT NULL,
    failed    bigint      NOT NULL,
    cancelled bigint      NOT NULL,
    begun_at  timestamptz,
    over_at   timestamptz,
    user_name text        NOT NULL,
    PRIMARY KEY (task)
) WITH (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
COMMENT ON TABLE task_counts IS 'Jobs of a task by state, as of folded. waiting and paused are jobs that may not run yet.';
COMMENT ON COLUMN task_counts.begun_at IS 'When its first lease was granted.';
COMMENT ON COLUMN task_counts.over_at IS 'When the last of its jobs that are over was so.';
COMMENT ON COLUMN task_counts.user_name IS 'Whose task it is.';
COMMENT ON INDEX task_counts_pkey IS 'Target of the upserts of folds, which are HOT.';

CREATE TABLE steps (
    seq    bigint      PRIMARY KEY,
    before bigint      NOT NULL,
    at     timestamptz NOT NULL,
    tasks  bigint[]    NOT NULL
);
COMMENT ON TABLE steps IS 'The steps of the fold that changed counts of tasks, and which tasks. Kept for some hours.';
COMMENT ON COLUMN steps.seq IS 'The last batch of the step; before: that of the step before it.';
COMMENT ON COLUMN steps.at IS 'Time of the last batch.';
COMMENT ON INDEX steps_pkey IS 'For whoever follows the tasks.';

CREATE VIEW counted_tasks AS
    SELECT t.*, coalesce(c.waiting + c.paused, 0) AS n_waiting, coalesce(c.ready, 0) AS n_ready, coalesce(c.held, 0) AS n_leased,
        coalesce(c.finished, 0) AS n_finished, coalesce(c.failed, 0) AS n_failed, coalesce(c.cancelled, 0) AS n_cancelled
    FROM tasks t
    LEFT JOIN task_counts c ON c.task = t.id;
COMMENT ON VIEW counted_tasks IS 'Tasks with the counts of their jobs, as of folded. A row lock is taken on tasks itself.';

CREATE TABLE share_counts (
    share      int    NOT NULL,
    shape      int    NOT NULL,
    queue      int    NOT NULL,
    ready      bigint NOT NULL,
    held       bigint NOT NULL,
    held_units bigint NOT NULL,
    PRIMARY KEY (share, shape, queue)
) WITH (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
COMMENT ON TABLE share_counts IS 'Ready and held jobs by share, shape and queue, as of folded.';
COMMENT ON COLUMN share_counts.queue IS '0: of ready jobs.';
COMMENT ON COLUMN share_counts.held_units IS 'Thousandths of a unit.';
COMMENT ON INDEX share_counts_pkey IS 'Target of the upserts of folds, which are HOT.';

CREATE TABLE expected (
    share int    NOT NULL,
    shape int    NOT NULL,
    jobs  bigint NOT NULL CHECK (jobs >= 0),
    PRIMARY KEY (share, shape)
) WITH (fillfactor = 60);
COMMENT ON TABLE expected IS 'Jobs that generators have still to make, as they said last.';

CREATE TABLE latest (
    kind  "char" NOT NULL,
    key   bigint NOT NULL,
    name  text   NOT NULL,
    entry jsonb  NOT NULL,
    PRIMARY KEY (kind, key, name)
) WITH (fillfactor = 60);
COMMENT ON TABLE latest IS 'The newest entry of each kind that has no table of its own: shapes, site, targets, polled queues, leader, time.';
COMMENT ON COLUMN latest.kind IS 'A letter, as of batches.kinds.';
COMMENT ON COLUMN latest.key IS 'The shape, the queue, the share; 0: none.';
COMMENT ON COLUMN latest.name IS 'The resource, the pool; empty: none.';
COMMENT ON COLUMN latest.entry IS 'As JSON.';

-- +goose Down
DROP VIEW counted_tasks;
DROP VIEW leases_now;
DROP FUNCTION divvy_payer;
DROP TABLE latest, expected, share_counts, task_counts, paused_tasks, steps, moves, kills, over_ranges, idle_ranges, held, folded, batches;
DROP FUNCTION divvy_all_gone, divvy_drop_batches, divvy_extend_batches, divvy_timeline;
DROP TABLE lineage, daemons;
