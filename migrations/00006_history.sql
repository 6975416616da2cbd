-- History by day: attempts that ended, folded out of the log, and the texts that their pilots sent. One writer: dispatcher.
--
-- A day is a UTC day; its partition is called <table>_YYYYMMDD. Days are made and dropped by functions whose SQL is built from dates
-- only. They wait for locks that others may have to queue behind for a fifth of a second at most: their caller tries again later.

-- +goose Up

-- +goose StatementBegin
CREATE FUNCTION divvy_make_day(parent text, day date) RETURNS int
    LANGUAGE plpgsql
    SET lock_timeout TO '200ms'
    SET search_path TO 'public', 'pg_temp'
    SET timezone TO 'UTC'
    AS $$
DECLARE
    name text := parent || to_char(day, '_YYYYMMDD');
BEGIN
    IF to_regclass(name) IS NOT NULL THEN
        RETURN 0;
    END IF;
    -- One at a time; reads and writes go on beside it.
    EXECUTE format('LOCK TABLE ONLY %I IN SHARE UPDATE EXCLUSIVE MODE', parent);
    IF to_regclass(name) IS NOT NULL THEN
        RETURN 0;
    END IF;
    -- Made beside the table and then attached: that keeps nobody waiting. Nothing is changed in it later.
    EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING ALL) WITH (autovacuum_vacuum_insert_scale_factor = 0.5, autovacuum_freeze_min_age = 0)', name, parent);
    EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', parent, name, day, day + 1);
    RETURN 1;
END $$;
-- +goose StatementEnd
COMMENT ON FUNCTION divvy_make_day IS 'The partition of a day (UTC) of a table without a default partition.';
-- +goose StatementBegin
CREATE FUNCTION divvy_drop_day(parent text, before timestamptz) RETURNS int
    LANGUAGE plpgsql
    SET lock_timeout TO '200ms'
    SET search_path TO 'public', 'pg_temp'
    SET timezone TO 'UTC'
    AS $$
DECLARE
    oldest text;
    ended  timestamptz;
BEGIN
    SELECT c.relname, substring(pg_get_expr(c.relpartbound, c.oid) FROM 'TO \(''([^'']+)''\)')::timestamptz INTO oldest, ended
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = parent::regclass
    ORDER BY 2 LIMIT 1;
    IF oldest IS NULL OR ended > before THEN
        RETURN 0;
    END IF;
    EXECUTE format('DROP TABLE %I', oldest);
    RETURN 1;
END $$;
-- +goose StatementEnd
COMMENT ON FUNCTION divvy_drop_day IS 'Drops the oldest day of a table where it ended before a time.';
-- +goose StatementBegin
CREATE FUNCTION divvy_drop_rows(name text, key text, before timestamptz, most int) RETURNS int
    LANGUAGE plpgsql
    SET search_path TO 'public', 'pg_temp'
    AS $$
DECLARE
    n int;
BEGIN
    EXECUTE format('DELETE FROM %1$I WHERE ctid = ANY (ARRAY(SELECT ctid FROM %1$I WHERE %2$I < $1 ORDER BY %2$I LIMIT $2))', name, key)
        USING before, most;
    GET DIAGNOSTICS n = ROW_COUNT;
    RETURN n;
END $$;
-- +goose StatementEnd
COMMENT ON FUNCTION divvy_drop_rows IS 'Deletes the oldest rows of a table that is not partitioned, by a column that an index begins with.';

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
COMMENT ON INDEX history_job IS 'The attempts of a job; those of a task, whose jobs are ranges of ids; ends that are said twice. 80 bytes of WAL an attempt, 40 of disk.';
CREATE INDEX history_ended ON history USING brin (ended_at) WITH (pages_per_range = 32);
COMMENT ON INDEX history_ended IS 'Reports on a stretch of a day.';
CREATE INDEX history_waits ON history (ended_at, job) WHERE state = 'w';
COMMENT ON INDEX history_waits IS 'The attempts after which jobs waited, in the order in which they are judged.';
-- +goose StatementBegin
CREATE FUNCTION divvy_make_history(day date) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'public', 'pg_temp'
    SET timezone TO 'UTC'
    AS $$
DECLARE
    parent text;
    name   text;
BEGIN
    FOREACH parent IN ARRAY '{history,attempt_texts}'::text[] LOOP
        name := parent || '_' || to_char(day, 'YYYYMMDD');
        CONTINUE WHEN to_regclass(name) IS NOT NULL;
        -- One at a time; reads and COPYs go on beside it.
        EXECUTE format('LOCK TABLE ONLY %I IN SHARE UPDATE EXCLUSIVE MODE', parent);
        CONTINUE WHEN to_regclass(name) IS NOT NULL;
        EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING ALL) WITH (autovacuum_vacuum_insert_scale_factor = 0.5, autovacuum_freeze_min_age = 0)',
            name, parent);
        -- A constant of an unknown type: the day is a timestamptz to one, a date to the other.
        EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', parent, name, day::text, (day + 1)::text);
    END LOOP;
END $$;
-- +goose StatementEnd
COMMENT ON FUNCTION divvy_make_history IS 'Makes the partitions of history and attempt_texts for a day, where there are none.';
-- +goose StatementBegin
CREATE FUNCTION divvy_drop_history(parent text, before timestamptz) RETURNS int
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
    WHERE i.inhparent = parent::regclass
    ORDER BY 2 LIMIT 1;
    IF oldest IS NULL OR until > before THEN
        RETURN 0;
    END IF;
    EXECUTE format('DROP TABLE %s', oldest);
    RETURN 1;
END $$;
-- +goose StatementEnd
COMMENT ON FUNCTION divvy_drop_history IS 'Drops the oldest day of history or attempt_texts where all of it is from before a time; returns how many it dropped.';

-- A task is scaled away from all jobs of a piece at once, and a job is tried again when it is over. So each piece has one job that is over and
-- does not try another one again: their number, less that of jobs that finished, needs no row of jobs. Where the
-- history of a first try is dropped and that of the second is not, it is short by one.
-- +goose StatementBegin
CREATE FUNCTION divvy_unwanted(of_task bigint) RETURNS bigint
    LANGUAGE sql
    STABLE
    SET search_path TO 'public', 'pg_temp'
    RETURN (
        WITH away AS (
            SELECT low, high, false AS again FROM scaled_away WHERE task_id = of_task
            UNION ALL
            SELECT greatest(a.low, b.low), least(a.high, b.high), true
            FROM job_blocks b
            JOIN scaled_away a ON a.task_id = b.task_id AND a.high >= b.low AND a.low BETWEEN
                coalesce((SELECT s.low FROM scaled_away s WHERE s.task_id = b.task_id AND s.low <= b.low ORDER BY s.low DESC LIMIT 1), b.low) AND b.high
            WHERE b.task_id = of_task AND b.again
        )
        SELECT greatest(coalesce(sum(CASE WHEN a.again THEN -e.n ELSE e.n END), 0), 0)::bigint
        FROM away a
        CROSS JOIN LATERAL (
            SELECT count(*) AS n
            FROM history h
            WHERE h.job BETWEEN a.low AND a.high AND h.task = of_task AND (h.state IN ('x', 'c') OR a.again AND h.state = 'f')
            UNION ALL
            SELECT sum(least(o.high, a.high) - greatest(o.low, a.low) + 1)
            FROM over_ranges o
            WHERE o.high BETWEEN a.low AND coalesce((SELECT p.high FROM over_ranges p WHERE p.high >= a.high ORDER BY p.high LIMIT 1), a.high)
                AND o.low <= a.high AND o.task = of_task
        ) e
    );
-- +goose StatementEnd
COMMENT ON FUNCTION divvy_unwanted IS 'How many pieces that a task was scaled away from are over without a job that finished, as far as that is known.';

-- The log has no texts: these are written in the transaction of the append that ends the attempt. An attempt of which its pilot said
-- nothing has no row.
CREATE TABLE attempt_texts (
    job_id   bigint NOT NULL,
    ended_on date   NOT NULL,
    attempt  int    NOT NULL,
    reason   text,
    log      text,
    report   jsonb,
    outputs  jsonb,
    metadata jsonb,
    PRIMARY KEY (job_id, attempt, ended_on)
) PARTITION BY RANGE (ended_on);
COMMENT ON TABLE attempt_texts IS 'What pilots said of attempts that ended, beside the figures that history has. NULL: nothing.';
COMMENT ON COLUMN attempt_texts.ended_on IS 'Day of the end, UTC.';
COMMENT ON COLUMN attempt_texts.reason IS 'What the pilot said about the end.';
COMMENT ON COLUMN attempt_texts.log IS 'End of stdout and stderr, as the pilot reported.';
COMMENT ON COLUMN attempt_texts.report IS 'What its pilot reported beside the rest, by name, the last value of each.';
COMMENT ON COLUMN attempt_texts.outputs IS 'What the job made, by name.';
COMMENT ON COLUMN attempt_texts.metadata IS 'What the payload reported of itself.';
COMMENT ON INDEX attempt_texts_pkey IS 'The texts of an attempt.';
ALTER TABLE attempt_texts ALTER reason SET STATISTICS 0, ALTER log SET STATISTICS 0, ALTER report SET STATISTICS 0, ALTER outputs SET STATISTICS 0,
    ALTER metadata SET STATISTICS 0;

CREATE TABLE lease_reports (
    job_id  bigint      PRIMARY KEY,
    attempt int         NOT NULL,
    said_at timestamptz NOT NULL DEFAULT now(),
    report  jsonb       NOT NULL
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
COMMENT ON TABLE lease_reports IS 'What pilots report of attempts that run, at renewals. The fold puts it into attempt_texts when they have ended.';
COMMENT ON COLUMN lease_reports.report IS 'By name, the last value of each.';
COMMENT ON INDEX lease_reports_pkey IS 'By job: renewals that bring a report, and ends.';
ALTER TABLE lease_reports ALTER report SET STATISTICS 0;
-- +goose StatementBegin
CREATE FUNCTION divvy_merge_reports(before jsonb, after jsonb) RETURNS jsonb
    LANGUAGE sql IMMUTABLE
    SET search_path TO pg_catalog, pg_temp
    AS $$
    SELECT CASE
        WHEN before IS NULL OR after IS NULL THEN coalesce(before, after)
        WHEN octet_length((before || after)::text) <= 65536 THEN before || after
        ELSE after || jsonb_build_object('cut', concat_ws('; ', after->>'cut', 'what was reported before is left out: a report has at most 65536 bytes'))
    END
$$;
-- +goose StatementEnd
COMMENT ON FUNCTION divvy_merge_reports IS 'The fields of after over those of before, within the bound of a report.';

CREATE TABLE judgements (
    job_id   bigint      NOT NULL,
    attempt  int         NOT NULL,
    noted_at timestamptz NOT NULL DEFAULT now(),
    note     text        NOT NULL,
    PRIMARY KEY (job_id, attempt)
);
COMMENT ON TABLE judgements IS 'What rules of the site or terms of the task said of attempts. One that is not here was tried again as ever, or used up the last attempt.';

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
DROP FUNCTION divvy_unwanted;
DROP TABLE payload_logs, judgements, lease_reports, attempt_texts, history;
DROP FUNCTION divvy_merge_reports, divvy_drop_history, divvy_make_history, divvy_drop_rows, divvy_drop_day, divvy_make_day;
