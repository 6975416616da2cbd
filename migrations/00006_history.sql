-- History by day: ended attempts and jobs, output of payloads. One writer: dispatcher.
--
-- A day is a UTC day; its partition is called <table>_YYYYMMDD. Days are made and dropped by functions whose SQL is built from dates
-- only. They wait for locks that others may have to queue behind for a fifth of a second at most: their caller tries again later.

-- +goose Up

-- Rows of a day are only inserted, and stay. A vacuum finds no dead rows, it only sets the visibility map and freezes: so it comes
-- after half as many rows again instead of a fifth (20 times instead of 50 in a day of ten million rows), and freezes at once, so
-- that no later one must write these pages again. Days of decisions are dropped within a week: nothing is ever left to clean up, and
-- PostgreSQL vacuums all the same should transaction numbers run short before that.
-- +goose StatementBegin
CREATE FUNCTION divvy_new_day(parent text, day date) RETURNS text
LANGUAGE plpgsql SET search_path = public, pg_temp
AS $$
DECLARE
    name text := parent || to_char(day, '_YYYYMMDD');
    col  name;
BEGIN
    EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING STORAGE INCLUDING INDEXES)', name, parent);
    FOR col IN SELECT attname FROM pg_attribute WHERE attrelid = parent::regclass AND attnum > 0 AND NOT attisdropped AND attstattarget = 0 LOOP
        EXECUTE format('ALTER TABLE %I ALTER %I SET STATISTICS 0', name, col);
    END LOOP;
    IF parent = 'decisions' THEN
        EXECUTE format('ALTER TABLE %I SET (autovacuum_enabled = false, toast.autovacuum_enabled = false)', name);
    ELSE
        EXECUTE format('ALTER TABLE %I SET (autovacuum_vacuum_insert_scale_factor = 0.5, autovacuum_freeze_min_age = 0,
            autovacuum_analyze_scale_factor = 0.5)', name);
    END IF;
    RETURN name;
END $$;
-- +goose StatementEnd
COMMENT ON FUNCTION divvy_new_day IS 'Makes a table for a day of another table, not yet as its partition; returns its name.';

-- ATTACH takes SHARE UPDATE EXCLUSIVE on the parent, which nobody minds who reads or inserts; CREATE … PARTITION OF would take ACCESS
-- EXCLUSIVE. It also takes ACCESS EXCLUSIVE on the default partition and reads all of it. That one is empty as long as days are made
-- ahead. When it has rows of a day, the day is left to it: to move them here would hold off every end of an attempt meanwhile.
-- +goose StatementBegin
CREATE FUNCTION divvy_make_days(parent text, first date, days int) RETURNS int
LANGUAGE plpgsql SET lock_timeout = '200ms' SET timezone = 'UTC' SET search_path = public, pg_temp
AS $$
DECLARE
    key      text;
    rest     regclass;
    day      date;
    occupied boolean;
    made     int := 0;
BEGIN
    SELECT a.attname, nullif(p.partdefid, 0)::regclass INTO STRICT key, rest
    FROM pg_partitioned_table p
    JOIN pg_attribute a ON a.attrelid = p.partrelid AND a.attnum = p.partattrs[0]
    WHERE p.partrelid = parent::regclass;
    FOR day IN SELECT first + i FROM generate_series(0, days - 1) AS i LOOP
        CONTINUE WHEN to_regclass(parent || to_char(day, '_YYYYMMDD')) IS NOT NULL;
        IF rest IS NOT NULL THEN
            EXECUTE format('SELECT EXISTS (SELECT FROM %s WHERE %I >= %L AND %2$I < %4$L)', rest, key, day, day + 1) INTO occupied;
            CONTINUE WHEN occupied;
        END IF;
        BEGIN
            EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', parent, divvy_new_day(parent, day), day, day + 1);
            made := made + 1;
        EXCEPTION WHEN check_violation THEN
            NULL; -- a row of the day reached the default partition meanwhile
        END;
    END LOOP;
    RETURN made;
END $$;
-- +goose StatementEnd
COMMENT ON FUNCTION divvy_make_days IS 'Makes the daily partitions of a table from first on, as many as days; returns how many were missing.';

-- Nobody changes rows of the default partition while they move: a judgement on an attempt waits. Ends do not, since today has its
-- partition, else nothing moves; and the day has been over for an hour, so that no transaction has its time.
-- +goose StatementBegin
CREATE FUNCTION divvy_move_day(parent text, day date) RETURNS bigint
LANGUAGE plpgsql SET lock_timeout = '200ms' SET timezone = 'UTC' SET search_path = public, pg_temp
AS $$
DECLARE
    key   text;
    rest  regclass;
    name  text := parent || to_char(day, '_YYYYMMDD');
    moved bigint;
BEGIN
    SELECT a.attname, nullif(p.partdefid, 0)::regclass INTO STRICT key, rest
    FROM pg_partitioned_table p
    JOIN pg_attribute a ON a.attrelid = p.partrelid AND a.attnum = p.partattrs[0]
    WHERE p.partrelid = parent::regclass;
    IF rest IS NULL OR day >= (now() - interval '1 hour')::date OR to_regclass(name) IS NOT NULL
        OR to_regclass(parent || to_char(now(), '_YYYYMMDD')) IS NULL THEN
        RETURN 0;
    END IF;
    EXECUTE format('LOCK TABLE %s IN SHARE ROW EXCLUSIVE MODE', rest);
    PERFORM divvy_new_day(parent, day);
    EXECUTE format('WITH gone AS (DELETE FROM %s WHERE %I >= %L AND %2$I < %4$L RETURNING *) INSERT INTO %5$I SELECT * FROM gone',
        rest, key, day, day + 1, name);
    GET DIAGNOSTICS moved = ROW_COUNT;
    IF moved = 0 THEN -- there was none, or none of them is in the roll-ups yet
        EXECUTE format('DROP TABLE %I', name);
        RETURN 0;
    END IF;
    -- So that the rows need not be looked at again while the default partition is locked.
    EXECUTE format('ALTER TABLE %I ADD CONSTRAINT of_the_day CHECK (%I >= %L AND %2$I < %4$L)', name, key, day, day + 1);
    RETURN moved;
END $$;
-- +goose StatementEnd
COMMENT ON FUNCTION divvy_move_day IS 'Moves the rows of a day that is over out of the default partition into a table of their own; returns how many. divvy_attach_day makes it a partition, in the same transaction.';

-- +goose StatementBegin
CREATE FUNCTION divvy_attach_day(parent text, day date) RETURNS void
LANGUAGE plpgsql SET lock_timeout = '200ms' SET timezone = 'UTC' SET search_path = public, pg_temp
AS $$
DECLARE
    name text := parent || to_char(day, '_YYYYMMDD');
BEGIN
    EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', parent, name, day, day + 1);
    EXECUTE format('ALTER TABLE %I DROP CONSTRAINT of_the_day', name);
END $$;
-- +goose StatementEnd
COMMENT ON FUNCTION divvy_attach_day IS 'Makes the table of divvy_move_day a partition. It fails where a row of the day is left in the default partition.';

-- DROP takes ACCESS EXCLUSIVE on the parent for a moment.
-- +goose StatementBegin
CREATE FUNCTION divvy_drop_days(parent text, before date) RETURNS int
LANGUAGE plpgsql SET lock_timeout = '200ms' SET timezone = 'UTC' SET search_path = public, pg_temp
AS $$
DECLARE
    name      text;
    uncounted boolean;
    dropped   int := 0;
BEGIN
    FOR name IN
        SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
        WHERE i.inhparent = parent::regclass AND c.relname ~ ('^' || parent || '_[0-9]{8}$')
            AND c.relname < (parent || to_char(before, '_YYYYMMDD')) COLLATE "C"
        ORDER BY c.relname
    LOOP
        IF parent = 'attempts' THEN
            EXECUTE format('SELECT EXISTS (SELECT FROM %1$I a WHERE a.nth > s.done) OR s.past IS NOT NULL AND EXISTS (SELECT FROM %1$I a
                WHERE a.nth IS NULL AND a.ended_at >= s.past) FROM usage_state s', name) INTO uncounted;
            EXIT WHEN uncounted;
        END IF;
        EXECUTE format('DROP TABLE %I', name);
        dropped := dropped + 1;
    END LOOP;
    RETURN dropped;
END $$;
-- +goose StatementEnd
COMMENT ON FUNCTION divvy_drop_days IS 'Drops the daily partitions of a table before a date; returns how many. Days of attempts are dropped only up to the first one that is not all in the roll-ups.';

-- Numbers come out of a sequence, not of transaction ids, so that they go on behind a dump and its restore. They rise through the
-- table: a summary of each 64 pages finds the newest, and costs an insert next to nothing.
CREATE SEQUENCE attempts_nth;
CREATE TABLE attempts (
    job_id     bigint           NOT NULL,
    attempt    int              NOT NULL,
    nonce      bigint           NOT NULL,
    task_id    bigint           NOT NULL,
    share_id   int              NOT NULL,
    shape_id   int              NOT NULL,
    queue_id   int              NOT NULL,
    units      bigint           NOT NULL,
    cores      int              NOT NULL,
    priority   int              NOT NULL,
    pilot      text             NOT NULL,
    node       text             NOT NULL,
    claimed_at timestamptz      NOT NULL,
    started_at timestamptz,
    ended_at   timestamptz      NOT NULL DEFAULT now(),
    outcome    text             NOT NULL CHECK (outcome IN ('finished', 'failed', 'lost', 'cancelled', 'revoked')),
    exit_code  int,
    message    text             NOT NULL DEFAULT '',
    cpu_s      double precision NOT NULL DEFAULT 0,
    memory_mb  bigint           NOT NULL DEFAULT 0,
    outputs    jsonb,
    log_tail   text             NOT NULL DEFAULT '',
    said       text,
    report     jsonb,
    judged     text,
    nth        bigint           DEFAULT nextval('attempts_nth')
) PARTITION BY RANGE (ended_at);
COMMENT ON TABLE attempts IS 'Attempts that ended: what accounting reads. By day; the default partition holds rows whose day has no partition.';
COMMENT ON COLUMN attempts.units IS 'Thousandths of a unit.';
COMMENT ON COLUMN attempts.said IS 'How a reclaimed attempt that counts as revoked ended: cancelled or failed, as its pilot said, or reclaimed, without a word from it; NULL for all others.';
COMMENT ON COLUMN attempts.report IS 'What its pilot reported beside the rest, by name, the last value of each; NULL: nothing.';
COMMENT ON COLUMN attempts.judged IS 'What a retry rule or the terms of its task made of an attempt that did not finish; NULL: its job was tried again at once, or was over.';
COMMENT ON COLUMN attempts.nth IS 'Number in the order of insertion, with gaps; usage_state says up to where attempts are in the roll-ups.';
CREATE INDEX attempts_job ON attempts (job_id, attempt);
COMMENT ON INDEX attempts_job IS 'The attempts of a job, in order: history of a job, ends that are said twice. 31 bytes an attempt, 75 of WAL, 1 us.';
CREATE INDEX attempts_nth_brin ON attempts USING brin (nth) WITH (pages_per_range = 64);
COMMENT ON INDEX attempts_nth_brin IS 'Attempts that are not in the roll-ups yet. BRIN: a btree would cost each end 1 us and 75 bytes of WAL.';
ALTER SEQUENCE attempts_nth OWNED BY attempts.nth;
CREATE TABLE attempts_rest PARTITION OF attempts DEFAULT WITH (autovacuum_analyze_scale_factor = 0.5);
ALTER TABLE attempts
    ALTER nonce SET STATISTICS 0, ALTER message SET STATISTICS 0, ALTER cpu_s SET STATISTICS 0, ALTER memory_mb SET STATISTICS 0,
    ALTER outputs SET STATISTICS 0, ALTER log_tail SET STATISTICS 0, ALTER said SET STATISTICS 0, ALTER report SET STATISTICS 0,
    ALTER judged SET STATISTICS 0;

-- +goose StatementBegin
CREATE FUNCTION divvy_keep_uncounted() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
    IF EXISTS (SELECT FROM usage_state s WHERE CASE WHEN OLD.nth IS NULL THEN OLD.ended_at >= s.past ELSE OLD.nth > s.done END) THEN
        RETURN NULL;
    END IF;
    RETURN OLD;
END $$;
-- +goose StatementEnd
COMMENT ON FUNCTION divvy_keep_uncounted IS 'Keeps attempts that are not in the roll-ups yet from being deleted, or moved, out of the default partition.';
CREATE TRIGGER keep_uncounted BEFORE DELETE ON attempts_rest FOR EACH ROW EXECUTE FUNCTION divvy_keep_uncounted();

-- A lease that is charged to another share from a moment on leaves a piece behind. Moves are rare, and kept as long as attempts.
CREATE TABLE lease_pieces (
    job_id   bigint      NOT NULL,
    attempt  int         NOT NULL,
    nonce    bigint      NOT NULL,
    share_id int         NOT NULL,
    since    timestamptz NOT NULL,
    until    timestamptz NOT NULL,
    PRIMARY KEY (job_id, attempt, nonce, since, until),
    CHECK (since <= until)
);
COMMENT ON TABLE lease_pieces IS 'Leases that went to another share: the share that was charged before, from when to when. The time behind the last piece is charged to the share of the lease, or of the attempt.';
COMMENT ON COLUMN lease_pieces.until IS 'By the clock, not by the begin of the transaction, which may lie before the claim. It may lie behind the end of an attempt whose end waited for the move: readers cut it there.';
COMMENT ON INDEX lease_pieces_pkey IS 'By attempt.';
CREATE INDEX lease_pieces_until ON lease_pieces USING brin (until) WITH (pages_per_range = 16, autosummarize = on);
COMMENT ON INDEX lease_pieces_until IS 'Old ones, which purge drops.';

-- +goose StatementBegin
CREATE FUNCTION divvy_lease_piece() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO public.lease_pieces (job_id, attempt, nonce, share_id, since, until)
    SELECT OLD.job_id, OLD.attempt, OLD.nonce, OLD.share_id, s.since, greatest(s.since, clock_timestamp())
    FROM (
        SELECT coalesce(max(p.until), OLD.claimed_at) AS since FROM public.lease_pieces p
        WHERE p.job_id = OLD.job_id AND p.attempt = OLD.attempt AND p.nonce = OLD.nonce
    ) s
    ON CONFLICT DO NOTHING; -- a piece without length, when the clock was set back
    RETURN NULL;
END $$;
-- +goose StatementEnd
COMMENT ON FUNCTION divvy_lease_piece IS 'Notes up to when the share was charged that a lease leaves.';
CREATE TRIGGER piece AFTER UPDATE OF share_id ON leases FOR EACH ROW WHEN (OLD.share_id <> NEW.share_id) EXECUTE FUNCTION divvy_lease_piece();

CREATE TABLE ended_jobs (
    id           bigint      NOT NULL,
    task_id      bigint      NOT NULL,
    share_id     int         NOT NULL,
    shape_id     int         NOT NULL,
    priority     int         NOT NULL,
    state        text        NOT NULL CHECK (state IN ('finished', 'failed', 'cancelled')),
    attempt      int         NOT NULL,
    max_attempts int         NOT NULL,
    idx          bigint      NOT NULL,
    inputs       text[],
    first_event  bigint,
    n_events     bigint,
    retry_of     bigint,
    created_at   timestamptz NOT NULL,
    ended_at     timestamptz NOT NULL DEFAULT now(),
    scaled_away  boolean
) PARTITION BY RANGE (ended_at);
COMMENT ON TABLE ended_jobs IS 'Jobs in a final state, by day as attempts are.';
COMMENT ON COLUMN ended_jobs.scaled_away IS 'Its task was scaled down since: it is not tried again, and the task can be done without it; NULL: it was not.';
CREATE INDEX ended_jobs_id ON ended_jobs (id);
COMMENT ON INDEX ended_jobs_id IS 'By id: GET of a job that is over, ends that are said twice. 22 bytes a job, 66 of WAL, 1 us.';
CREATE INDEX ended_jobs_task ON ended_jobs (task_id, id);
COMMENT ON INDEX ended_jobs_task IS 'The ended jobs of a task: lists, failed ones that are tried again. 49 bytes a job, 93 of WAL, 1.7 us.';
CREATE TABLE ended_jobs_rest PARTITION OF ended_jobs DEFAULT WITH (autovacuum_analyze_scale_factor = 0.5);
ALTER TABLE ended_jobs ALTER inputs SET STATISTICS 0;

-- No default partition: only the dispatcher writes here, and makes the day first.
CREATE TABLE payload_logs (
    at      timestamptz NOT NULL DEFAULT now(),
    job_id  bigint      NOT NULL,
    attempt int         NOT NULL,
    log     text        NOT NULL
) PARTITION BY RANGE (at);
COMMENT ON TABLE payload_logs IS 'End of stdout and stderr of an attempt that PanDA''s pilot ran, beside attempts.log_tail, which that pilot reported. The first row of an attempt counts.';
CREATE INDEX payload_logs_job ON payload_logs (job_id, attempt);
COMMENT ON INDEX payload_logs_job IS 'By job: job logs, and whether an attempt has a row already.';
ALTER TABLE payload_logs ALTER log SET STATISTICS 0;

-- +goose Down
DROP TRIGGER piece ON leases;
DROP TABLE payload_logs, ended_jobs, lease_pieces, attempts; -- and attempts_nth with it
DROP FUNCTION divvy_lease_piece, divvy_keep_uncounted, divvy_drop_days, divvy_attach_day, divvy_move_day, divvy_make_days, divvy_new_day;
