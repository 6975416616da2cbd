-- History by day: attempts that ended, folded out of the log, and the texts that their pilots sent. One writer: dispatcher.
--
-- A day is a UTC day; its partition is called <table>_YYYYMMDD. Days are made and dropped by functions whose SQL is built from dates
-- only. They wait for locks that others may have to queue behind for a fifth of a second at most: their caller tries again later.

-- +goose Up

-- Rows of a day are only inserted, and stay. A vacuum finds no dead rows, it only sets the visibility map and freezes: so it comes
-- after half as many rows again instead of a fifth (20 times instead of 50 in a day of ten million rows), and freezes at once, so
-- that no later one must write these pages again.
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
    EXECUTE format('ALTER TABLE %I SET (autovacuum_vacuum_insert_scale_factor = 0.5, autovacuum_freeze_min_age = 0,
        autovacuum_analyze_scale_factor = 0.5)', name);
    RETURN name;
END $$;
-- +goose StatementEnd
COMMENT ON FUNCTION divvy_new_day IS 'Makes a table for a day of another table, not yet as its partition; returns its name.';

-- ATTACH takes SHARE UPDATE EXCLUSIVE on the parent, which nobody minds who reads or inserts; CREATE … PARTITION OF would take ACCESS
-- EXCLUSIVE. It also takes ACCESS EXCLUSIVE on the default partition and reads all of it. That one is empty as long as days are made
-- ahead. When it has rows of a day, the day is left to it: to move them here would hold off every insert meanwhile.
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

-- Nobody changes rows of the default partition while they move. Today has its partition, else nothing moves; and the day has been over
-- for an hour, so that no transaction has its time.
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
    IF moved = 0 THEN
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
    name    text;
    dropped int := 0;
BEGIN
    FOR name IN
        SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
        WHERE i.inhparent = parent::regclass AND c.relname ~ ('^' || parent || '_[0-9]{8}$')
            AND c.relname < (parent || to_char(before, '_YYYYMMDD')) COLLATE "C"
        ORDER BY c.relname
    LOOP
        EXECUTE format('DROP TABLE %I', name);
        dropped := dropped + 1;
    END LOOP;
    RETURN dropped;
END $$;
-- +goose StatementEnd
COMMENT ON FUNCTION divvy_drop_days IS 'Drops the daily partitions of a table before a date; returns how many.';

CREATE TABLE history (
    job            bigint      NOT NULL,
    nonce          bigint      NOT NULL,
    task           bigint      NOT NULL,
    units          bigint      NOT NULL,
    granted_at     timestamptz NOT NULL,
    ended_at       timestamptz NOT NULL,
    cpu_ms         bigint      NOT NULL,
    attempt        int         NOT NULL,
    share          int         NOT NULL,
    shape          int         NOT NULL,
    queue          int         NOT NULL,
    start_delay_ms int         NOT NULL,
    exit_code      int         NOT NULL,
    memory_mb      int         NOT NULL,
    outcome        "char"      NOT NULL,
    state          "char"      NOT NULL,
    pilot          text        NOT NULL,
    node           text        NOT NULL
) PARTITION BY RANGE (ended_at);
COMMENT ON TABLE history IS 'Attempts that ended, as of folded; the last one of a job has its final state. No column is NULL: that would cost 8 bytes a row.';
COMMENT ON COLUMN history.units IS 'Thousandths of a unit.';
COMMENT ON COLUMN history.cpu_ms IS 'Processor time as its pilot said, like memory_mb (the peak).';
COMMENT ON COLUMN history.share IS 'Share that it was charged to in the end.';
COMMENT ON COLUMN history.start_delay_ms IS 'From the grant until its pilot said that it runs; -1: it never said so.';
COMMENT ON COLUMN history.exit_code IS 'Of the process; 0 where there is none.';
COMMENT ON COLUMN history.outcome IS 'Of the attempt: f finished, x failed, l lost, c cancelled, r returned by order of the dispatcher.';
COMMENT ON COLUMN history.state IS 'Of the job from then on: f finished, x failed, c cancelled; r ready, w waiting: it was tried again.';
CREATE INDEX history_job ON history (job);
COMMENT ON INDEX history_job IS 'The attempts of a job; ends that are said twice. 80 bytes of WAL an attempt, 40 of disk.';
CREATE INDEX history_task ON history (task);
COMMENT ON INDEX history_task IS 'The attempts of a task. Equal keys share an entry, and the ids of rows rise: 66 bytes of WAL an attempt, 7 of disk.';
CREATE INDEX history_ended ON history USING brin (ended_at) WITH (pages_per_range = 32);
COMMENT ON INDEX history_ended IS 'Reports on a stretch of a day.';
-- +goose StatementBegin
CREATE FUNCTION divvy_make_history(day date) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'public', 'pg_temp'
    SET timezone TO 'UTC'
    AS $$
DECLARE
    name text := 'history_' || to_char(day, 'YYYYMMDD');
BEGIN
    IF to_regclass(name) IS NOT NULL THEN
        RETURN;
    END IF;
    -- One at a time; reads and COPYs go on beside it.
    LOCK TABLE ONLY history IN SHARE UPDATE EXCLUSIVE MODE;
    IF to_regclass(name) IS NOT NULL THEN
        RETURN;
    END IF;
    EXECUTE format('CREATE TABLE %I (LIKE history INCLUDING ALL) WITH (autovacuum_vacuum_insert_scale_factor = 0.5, autovacuum_freeze_min_age = 0)', name);
    EXECUTE format('ALTER TABLE history ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', name, day::timestamptz, (day + 1)::timestamptz);
END $$;
-- +goose StatementEnd
COMMENT ON FUNCTION divvy_make_history IS 'Makes the partition of history for a day, where there is none.';
-- +goose StatementBegin
CREATE FUNCTION divvy_drop_history(before timestamptz) RETURNS int
    LANGUAGE plpgsql
    SET lock_timeout TO '200ms'
    SET search_path TO 'public', 'pg_temp'
    SET timezone TO 'UTC'
    AS $$
DECLARE
    oldest regclass;
    until  timestamptz;
BEGIN
    SELECT c.oid, substring(pg_get_expr(c.relpartbound, c.oid) FROM 'TO \(''([^'']+)''\)')::timestamptz INTO oldest, until
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = 'history'::regclass
    ORDER BY 2 LIMIT 1;
    IF oldest IS NULL OR until > before THEN
        RETURN 0;
    END IF;
    EXECUTE format('DROP TABLE %s', oldest);
    RETURN 1;
END $$;
-- +goose StatementEnd
COMMENT ON FUNCTION divvy_drop_history IS 'Drops the oldest day of history where all of it is from before a time; returns how many it dropped.';

-- The log has no texts: these are written in the transaction of the append that ends the attempt. An attempt of which its pilot said
-- nothing has no row.
CREATE TABLE attempt_texts (
    day     date   NOT NULL,
    job     bigint NOT NULL,
    attempt int    NOT NULL,
    message text   NOT NULL DEFAULT '',
    log     text   NOT NULL DEFAULT '',
    outputs jsonb,
    report  jsonb,
    PRIMARY KEY (job, attempt, day)
) PARTITION BY RANGE (day);
COMMENT ON TABLE attempt_texts IS 'What pilots said of attempts that ended, beside the figures that history has.';
COMMENT ON COLUMN attempt_texts.day IS 'Of the end, UTC.';
COMMENT ON COLUMN attempt_texts.message IS 'What the pilot said about the end.';
COMMENT ON COLUMN attempt_texts.log IS 'End of stdout and stderr, as the pilot reported.';
COMMENT ON COLUMN attempt_texts.outputs IS 'What the job made, by name.';
COMMENT ON COLUMN attempt_texts.report IS 'What its pilot reported beside the rest, by name, the last value of each; NULL: nothing.';
COMMENT ON INDEX attempt_texts_pkey IS 'The texts of an attempt.';
ALTER TABLE attempt_texts ALTER message SET STATISTICS 0, ALTER log SET STATISTICS 0, ALTER outputs SET STATISTICS 0, ALTER report SET STATISTICS 0;

CREATE TABLE judgements (
    at      timestamptz NOT NULL DEFAULT now(),
    job     bigint      NOT NULL,
    attempt int         NOT NULL,
    judged  text        NOT NULL
) PARTITION BY RANGE (at);
COMMENT ON TABLE judgements IS 'What retry rules, or the terms of their tasks, made of attempts that did not finish. Others were tried again at once, or their jobs were over.';
COMMENT ON COLUMN judgements.judged IS 'Which rule or term, and what became of the job, in words.';
CREATE INDEX judgements_job ON judgements (job, attempt);
COMMENT ON INDEX judgements_job IS 'By job: lists of attempts.';

-- No default partition: only the dispatcher writes here, and makes the day first.
CREATE TABLE payload_logs (
    at      timestamptz NOT NULL DEFAULT now(),
    job_id  bigint      NOT NULL,
    attempt int         NOT NULL,
    log     text        NOT NULL
) PARTITION BY RANGE (at);
COMMENT ON TABLE payload_logs IS 'End of stdout and stderr of an attempt that PanDA''s pilot ran, beside attempt_texts.log, which that pilot reported. The first row of an attempt counts.';
CREATE INDEX payload_logs_job ON payload_logs (job_id, attempt);
COMMENT ON INDEX payload_logs_job IS 'By job: job logs, and whether an attempt has a row already.';
ALTER TABLE payload_logs ALTER log SET STATISTICS 0;

-- +goose Down
DROP TABLE payload_logs, judgements, attempt_texts, history;
DROP FUNCTION divvy_drop_history, divvy_make_history, divvy_drop_days, divvy_attach_day, divvy_move_day, divvy_make_days, divvy_new_day;
