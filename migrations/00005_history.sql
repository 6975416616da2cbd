-- History by day, and the record of decisions. One writer: dispatcher.

-- +goose Up
-- Days are made and dropped by these two, whose text is built from dates only. A day is a UTC day, its partition
-- is called <table>_YYYYMMDD. Both take locks that others may have to queue behind, and so wait for them for a
-- fifth of a second at most: whoever calls tries again later.

-- Makes the days [first, first + days) that are not there, and returns how many it made.
--
-- ATTACH takes SHARE UPDATE EXCLUSIVE on the parent, which nobody who reads or inserts minds; CREATE … PARTITION OF
-- would take ACCESS EXCLUSIVE. It also takes ACCESS EXCLUSIVE on the default partition and reads all of it. That
-- one is empty as long as days are made ahead. When it is not, a day of which it has rows already is left to it:
-- moving rows would mean to hold off every end of an attempt for as long as that takes.
-- +goose StatementBegin
CREATE FUNCTION divvy_make_days(parent text, first date, days int) RETURNS int
LANGUAGE plpgsql SET lock_timeout = '200ms' SET timezone = 'UTC' SET search_path = public, pg_temp
AS $$
DECLARE
    key      text;
    rest     regclass;
    day      date;
    name     text;
    occupied boolean;
    made     int := 0;
BEGIN
    SELECT a.attname, nullif(p.partdefid, 0)::regclass INTO STRICT key, rest
    FROM pg_partitioned_table p
    JOIN pg_attribute a ON a.attrelid = p.partrelid AND a.attnum = p.partattrs[0]
    WHERE p.partrelid = parent::regclass;
    FOR day IN SELECT first + i FROM generate_series(0, days - 1) AS i LOOP
        name := parent || to_char(day, '_YYYYMMDD');
        CONTINUE WHEN to_regclass(name) IS NOT NULL;
        IF rest IS NOT NULL THEN
            EXECUTE format('SELECT EXISTS (SELECT FROM %s WHERE %I >= %L AND %2$I < %4$L)', rest, key, day, day + 1) INTO occupied;
            CONTINUE WHEN occupied;
        END IF;
        BEGIN
            EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING STORAGE)', name, parent);
            IF parent = 'decisions' THEN
                -- Rows are only inserted, and the table is dropped in a week: nothing is ever left to clean up. If
                -- transaction numbers run short before that, PostgreSQL vacuums all the same.
                EXECUTE format('ALTER TABLE %I SET (autovacuum_enabled = false, toast.autovacuum_enabled = false)', name);
            ELSE
                -- Rows are only inserted and stay. A vacuum has no dead rows to find, it only sets the visibility map
                -- and freezes: so let it come after half as many rows again instead of a fifth (20 times instead of 50
                -- in a day of ten million rows), and let it freeze at once (0 instead of 50 million transactions), so
                -- that no later one must write these pages again.
                EXECUTE format('ALTER TABLE %I SET (autovacuum_vacuum_insert_scale_factor = 0.5, autovacuum_freeze_min_age = 0)', name);
            END IF;
            EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', parent, name, day, day + 1);
            made := made + 1;
        EXCEPTION WHEN check_violation THEN
            NULL; -- a row of the day reached the default partition meanwhile
        END;
    END LOOP;
    RETURN made;
END $$;
-- +goose StatementEnd
COMMENT ON FUNCTION divvy_make_days IS 'Makes the daily partitions of a table from first on, as many as days; returns how many were not there.';

-- Drops the days before a date, and returns how many. DROP takes ACCESS EXCLUSIVE on the parent for a moment.
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

-- Until now everything went to the default partitions. Where there is something in them they become the partition
-- of the past, today included, so that the default is empty again: rows in it are read under an exclusive lock
-- whenever a day is made. Ends wait while this reads them, once.
-- +goose StatementBegin
DO $$
DECLARE
    parent text;
    until  date;
BEGIN
    FOREACH parent IN ARRAY ARRAY['attempts', 'ended_jobs'] LOOP
        CONTINUE WHEN (SELECT count(*) FROM pg_inherits WHERE inhparent = parent::regclass) <> 1;
        EXECUTE format('LOCK TABLE %I IN ACCESS EXCLUSIVE MODE', parent);
        EXECUTE format('SELECT (max(ended_at) AT TIME ZONE ''UTC'')::date + 1 FROM %I', parent || '_rest') INTO until;
        CONTINUE WHEN until IS NULL;
        until := greatest(until, (now() AT TIME ZONE 'UTC')::date + 1);
        EXECUTE format('ALTER TABLE %I DETACH PARTITION %I', parent, parent || '_rest');
        EXECUTE format('ALTER TABLE %I RENAME TO %I', parent || '_rest', parent || '_before');
        EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (MINVALUE) TO (%L)', parent, parent || '_before',
            until::timestamp AT TIME ZONE 'UTC');
        EXECUTE format('CREATE TABLE %I PARTITION OF %I DEFAULT', parent || '_rest', parent);
    END LOOP;
END $$;
-- +goose StatementEnd

-- Why each job was given to whom: one row a second and daemon, parallel arrays as in the ledger. A record of its own
-- row would be four times as large. No default partition: only the dispatcher writes here, and makes the day first.
CREATE TABLE decisions (
    written_at         timestamptz NOT NULL DEFAULT now(),
    daemon_id          bigint      NOT NULL,
    ms_ago             int[]       NOT NULL,
    lanes              smallint[]  NOT NULL,
    seqs               bigint[]    NOT NULL,
    job_ids            bigint[]    NOT NULL,
    queue_ids          int[]       NOT NULL,
    share_ids          int[]       NOT NULL,
    deficits           real[]      NOT NULL,
    runner_up_ids      int[]       NOT NULL,
    runner_up_deficits real[]      NOT NULL,
    candidates         int[]       NOT NULL,
    units              bigint[]    NOT NULL,
    rounds             bigint[]    NOT NULL,
    weights            int[]       NOT NULL
) PARTITION BY RANGE (written_at);
COMMENT ON TABLE decisions IS 'Records of committed claims, ms_ago before written_at. lanes, seqs: the ledger row of the claim''s transaction. runner_up_ids: 0 = nobody else had a job for the slot. deficits in units, rounds (R) and units in thousandths. weights: the record stands for so many claims.';
-- Readers look for a stretch of time; there is one entry a second.
CREATE INDEX decisions_written ON decisions (written_at);

CREATE VIEW report.decisions AS
    SELECT d.written_at - r.ms_ago * interval '1 ms' AS at,
        d.written_at,
        d.daemon_id,
        r.lane,
        r.seq,
        r.job_id,
        q.name AS queue,
        s.path AS share,
        r.deficit AS deficit_units,
        n.path AS runner_up,
        CASE WHEN r.runner_up_id <> 0 THEN r.runner_up_deficit END AS runner_up_deficit_units,
        r.candidates,
        (r.units / 1000.0)::numeric(20, 3) AS units,
        (r.round / 1000.0)::numeric(20, 3) AS round_units,
        r.weight
    FROM public.decisions d
    CROSS JOIN LATERAL unnest(d.ms_ago, d.lanes, d.seqs, d.job_ids, d.queue_ids, d.share_ids, d.deficits, d.runner_up_ids,
            d.runner_up_deficits, d.candidates, d.units, d.rounds, d.weights)
        AS r (ms_ago, lane, seq, job_id, queue_id, share_id, deficit, runner_up_id, runner_up_deficit, candidates, units, round, weight)
    LEFT JOIN public.queues q ON q.id = r.queue_id
    LEFT JOIN public.shares s ON s.id = r.share_id
    LEFT JOIN public.shares n ON n.id = r.runner_up_id;
COMMENT ON VIEW report.decisions IS 'Why a job was given to whom, for seven days: one row a recorded claim. Restrict it by written_at: days are stored apart.';
COMMENT ON COLUMN report.decisions.at IS 'When it was decided, to the millisecond.';
COMMENT ON COLUMN report.decisions.written_at IS 'When the record was written: a second or so after at.';
COMMENT ON COLUMN report.decisions.daemon_id IS 'Daemon that decided.';
COMMENT ON COLUMN report.decisions.lane IS 'Lane of the daemon''s ledger in which the claim is counted.';
COMMENT ON COLUMN report.decisions.seq IS 'Position in that lane: claims of one transaction have the same.';
COMMENT ON COLUMN report.decisions.job_id IS 'Job that was given.';
COMMENT ON COLUMN report.decisions.queue IS 'Queue of the slot that it was given to.';
COMMENT ON COLUMN report.decisions.share IS 'Path of the share that won, and pays.';
COMMENT ON COLUMN report.decisions.deficit_units IS 'Target minus held, before the grant, at the level where the paths of winner and runner-up part: of the winner''s side. Of the share itself when there is no runner-up. Seven digits.';
COMMENT ON COLUMN report.decisions.runner_up IS 'Path of the share that would have been picked without the winner; NULL when no other had a job for this slot.';
COMMENT ON COLUMN report.decisions.runner_up_deficit_units IS 'The same of the runner-up''s side; NULL when there is none.';
COMMENT ON COLUMN report.decisions.candidates IS 'Leaves that had a job for this slot which every hard limit admitted.';
COMMENT ON COLUMN report.decisions.units IS 'Units that the job is charged.';
COMMENT ON COLUMN report.decisions.round_units IS 'R that the targets were solved for: units held with those on offer, at most the capacity.';
COMMENT ON COLUMN report.decisions.weight IS 'Claims that this record stands for: 1 = all are recorded; more when a daemon made over a thousand claims a second.';

-- The role may be an administrator's, made after the views before this one; then no default privilege covers it.
-- +goose StatementBegin
DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'divvy_reader') THEN
        GRANT USAGE ON SCHEMA report TO divvy_reader;
        GRANT SELECT ON ALL TABLES IN SCHEMA report TO divvy_reader;
    END IF;
END $$;
-- +goose StatementEnd

-- +goose Down
-- Days of attempts and ended_jobs stay: the version before fills them, and then the default partition.
DROP VIEW report.decisions;
DROP TABLE decisions;
DROP FUNCTION divvy_drop_days(text, date);
DROP FUNCTION divvy_make_days(text, date, int);
