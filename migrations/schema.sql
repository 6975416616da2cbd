-- The schema as PostgreSQL 15 prints it. Written by: go test ./migrations -update
CREATE SCHEMA report;

COMMENT ON SCHEMA report IS 'Stable views for reports and dashboards, described in docs/reporting.md; readable by role divvy_reader.';

CREATE FUNCTION public.divvy_all_gone(gone bigint, wanted bigint) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF gone <> wanted THEN
        RAISE EXCEPTION 'of % rows of the outbox % are there', wanted, gone USING ERRCODE = 'DV001';
    END IF;
    RETURN true;
END $$;

COMMENT ON FUNCTION public.divvy_all_gone(gone bigint, wanted bigint) IS 'Lets an append fail as a whole where rows of the outbox are gone that it has the entries of.';

CREATE FUNCTION public.divvy_drop_batches(before timestamp with time zone, folded bigint) RETURNS integer
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

COMMENT ON FUNCTION public.divvy_drop_batches(before timestamp with time zone, folded bigint) IS 'Drops the oldest partition of the log where all of it is from before a time and folded, and not the newest; returns how many it dropped.';

CREATE FUNCTION public.divvy_drop_day(parent text, before timestamp with time zone) RETURNS integer
    LANGUAGE plpgsql
    SET lock_timeout TO '200ms'
    SET search_path TO 'public', 'pg_temp'
    SET "TimeZone" TO 'UTC'
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

COMMENT ON FUNCTION public.divvy_drop_day(parent text, before timestamp with time zone) IS 'Drops the oldest day of a table where it ended before a time.';

CREATE FUNCTION public.divvy_drop_history(parent text, before timestamp with time zone) RETURNS integer
    LANGUAGE plpgsql
    SET lock_timeout TO '200ms'
    SET search_path TO 'public', 'pg_temp'
    SET "TimeZone" TO 'UTC'
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

COMMENT ON FUNCTION public.divvy_drop_history(parent text, before timestamp with time zone) IS 'Drops the oldest day of history or attempt_texts where all of it is from before a time; returns how many it dropped.';

CREATE FUNCTION public.divvy_drop_jobs(low bigint, high bigint) RETURNS void
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

COMMENT ON FUNCTION public.divvy_drop_jobs(low bigint, high bigint) IS 'Drops the partitions with ids from low on, of jobs and of blocks.';

CREATE FUNCTION public.divvy_drop_rows(name text, key text, before timestamp with time zone, most integer) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'public', 'pg_temp'
    AS $_$
DECLARE
    n int;
BEGIN
    EXECUTE format('DELETE FROM %1$I WHERE ctid = ANY (ARRAY(SELECT ctid FROM %1$I WHERE %2$I < $1 ORDER BY %2$I LIMIT $2))', name, key)
        USING before, most;
    GET DIAGNOSTICS n = ROW_COUNT;
    RETURN n;
END $_$;

COMMENT ON FUNCTION public.divvy_drop_rows(name text, key text, before timestamp with time zone, most integer) IS 'Deletes the oldest rows of a table that is not partitioned, by a column that an index begins with.';

CREATE FUNCTION public.divvy_extend_batches(room bigint, size bigint) RETURNS integer
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

COMMENT ON FUNCTION public.divvy_extend_batches(room bigint, size bigint) IS 'Makes partitions of the log, of size rows each, until there is room for so many more; returns how many it made.';

CREATE FUNCTION public.divvy_extend_jobs(room bigint, size bigint) RETURNS integer
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

COMMENT ON FUNCTION public.divvy_extend_jobs(room bigint, size bigint) IS 'Partitions for the next ids.';

CREATE FUNCTION public.divvy_make_day(parent text, day date) RETURNS integer
    LANGUAGE plpgsql
    SET lock_timeout TO '200ms'
    SET search_path TO 'public', 'pg_temp'
    SET "TimeZone" TO 'UTC'
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

COMMENT ON FUNCTION public.divvy_make_day(parent text, day date) IS 'The partition of a day (UTC) of a table without a default partition.';

CREATE FUNCTION public.divvy_make_history(day date) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'public', 'pg_temp'
    SET "TimeZone" TO 'UTC'
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

COMMENT ON FUNCTION public.divvy_make_history(day date) IS 'Makes the partitions of history and attempt_texts for a day, where there are none.';

CREATE FUNCTION public.divvy_merge_reports(before jsonb, after jsonb) RETURNS jsonb
    LANGUAGE sql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    SELECT CASE
        WHEN before IS NULL OR after IS NULL THEN coalesce(before, after)
        WHEN octet_length((before || after)::text) <= 65536 THEN before || after
        ELSE after || jsonb_build_object('cut', concat_ws('; ', after->>'cut', 'what was reported before is left out: a report has at most 65536 bytes'))
    END
$$;

COMMENT ON FUNCTION public.divvy_merge_reports(before jsonb, after jsonb) IS 'The fields of after over those of before, within the bound of a report.';

CREATE FUNCTION public.divvy_payer(of_task bigint, of_job bigint, of_nth bigint, INOUT payer integer) RETURNS integer
    LANGUAGE plpgsql STABLE SECURITY DEFINER
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

COMMENT ON FUNCTION public.divvy_payer(of_task bigint, of_job bigint, of_nth bigint, INOUT payer integer) IS 'Who is charged for a lease now: moves apply in their order.';

CREATE FUNCTION public.divvy_take_ids(n bigint) RETURNS bigint
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

COMMENT ON FUNCTION public.divvy_take_ids(n bigint) IS 'Takes n ids that follow each other, and returns the first.';

CREATE FUNCTION public.divvy_task_ended() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'public', 'pg_temp'
    AS $$
BEGIN
    IF EXISTS (SELECT FROM webhooks) THEN
        INSERT INTO webhook_tasks (task, state) VALUES (NEW.id, NEW.state);
    END IF;
    RETURN NULL;
END $$;

COMMENT ON FUNCTION public.divvy_task_ended() IS 'Notes that a task has ended, in the transaction that ends it, where somebody is to be told.';

CREATE FUNCTION public.divvy_timeline() RETURNS text
    LANGUAGE sql
    AS $$ SELECT CASE WHEN NOT pg_is_in_recovery() THEN left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) END $$;

COMMENT ON FUNCTION public.divvy_timeline() IS 'The timeline on which this server writes; NULL on a standby.';

CREATE TABLE public.history (
    job bigint NOT NULL,
    nonce bigint NOT NULL,
    task bigint NOT NULL,
    units bigint NOT NULL,
    granted_at timestamp with time zone NOT NULL,
    ended_at timestamp with time zone NOT NULL,
    cpu_ms bigint NOT NULL,
    attempt integer NOT NULL,
    share integer NOT NULL,
    shape integer NOT NULL,
    queue integer NOT NULL,
    start_delay_ms integer NOT NULL,
    exit_code integer NOT NULL,
    memory_mb integer NOT NULL,
    outcome "char" NOT NULL,
    state "char" NOT NULL,
    pilot text NOT NULL,
    node text NOT NULL
)
PARTITION BY RANGE (ended_at);

COMMENT ON TABLE public.history IS 'Attempts that ended, as of folded; the last one of a job has its final state. No column is NULL: that would cost 8 bytes a row.';

COMMENT ON COLUMN public.history.units IS 'Thousandths of a unit.';

COMMENT ON COLUMN public.history.cpu_ms IS 'Processor time as its pilot said, like memory_mb (the peak).';

COMMENT ON COLUMN public.history.share IS 'Share that it was charged to in the end.';

COMMENT ON COLUMN public.history.start_delay_ms IS 'From the grant until its pilot said that it runs; -1: it never said so.';

COMMENT ON COLUMN public.history.exit_code IS 'Of the process; 0 where there is none.';

COMMENT ON COLUMN public.history.outcome IS 'Of the attempt: f finished, x failed, l lost, c cancelled, r returned by order of the dispatcher.';

COMMENT ON COLUMN public.history.state IS 'Of the job from then on: f finished, x failed, c cancelled; r ready, w waiting: it was tried again.';

CREATE TABLE public.job_blocks (
    low bigint NOT NULL,
    high bigint NOT NULL,
    task_id bigint NOT NULL,
    made_at timestamp with time zone DEFAULT now() NOT NULL,
    share_id integer NOT NULL,
    shape_id integer NOT NULL,
    priority integer NOT NULL,
    max_attempts integer NOT NULL,
    again boolean NOT NULL,
    CONSTRAINT job_blocks_check CHECK ((low <= high)),
    CONSTRAINT job_blocks_max_attempts_check CHECK ((max_attempts >= 1))
)
PARTITION BY RANGE (low);

COMMENT ON TABLE public.job_blocks IS 'What jobs have in common that were made together: a row for ids that follow each other. Every job of jobs has one.';

COMMENT ON COLUMN public.job_blocks.share_id IS 'To which they were last moved; what a lease counts for is in the log.';

COMMENT ON COLUMN public.job_blocks.shape_id IS 'As of making.';

COMMENT ON COLUMN public.job_blocks.priority IS 'As of now.';

COMMENT ON COLUMN public.job_blocks.again IS 'They try pieces again of jobs that are over.';

CREATE TABLE public.over_ranges (
    low bigint NOT NULL,
    high bigint NOT NULL,
    task bigint NOT NULL,
    nth bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    state "char" NOT NULL,
    CONSTRAINT over_ranges_check CHECK ((low <= high)),
    CONSTRAINT over_ranges_state_check CHECK ((state = ANY (ARRAY['c'::"char", 'x'::"char"])))
);

COMMENT ON TABLE public.over_ranges IS 'Jobs that came to an end without a lease, ranges of ids. Those that ended with an attempt are in history.';

COMMENT ON COLUMN public.over_ranges.nth IS 'Of the entry that said so, as held.nth.';

COMMENT ON COLUMN public.over_ranges.at IS 'When that was.';

COMMENT ON COLUMN public.over_ranges.state IS 'c cancelled, x failed: a rule gave it up.';

CREATE TABLE public.scaled_away (
    task_id bigint NOT NULL,
    low bigint NOT NULL,
    high bigint NOT NULL,
    CONSTRAINT scaled_away_check CHECK ((low <= high))
);

COMMENT ON TABLE public.scaled_away IS 'Jobs that their task does not want any more since it was scaled down: their pieces are not tried again, and other jobs may have their names.';

CREATE FUNCTION public.divvy_unwanted(of_task bigint) RETURNS bigint
    LANGUAGE sql STABLE
    SET search_path TO 'public', 'pg_temp'
    RETURN (WITH away AS (SELECT scaled_away.low, scaled_away.high, false AS again FROM public.scaled_away WHERE (scaled_away.task_id = divvy_unwanted.of_task) UNION ALL SELECT GREATEST(a_1.low, b.low) AS "greatest", LEAST(a_1.high, b.high) AS "least", true FROM (public.job_blocks b JOIN public.scaled_away a_1 ON (((a_1.task_id = b.task_id) AND (a_1.high >= b.low) AND ((a_1.low >= COALESCE((SELECT s.low FROM public.scaled_away s WHERE ((s.task_id = b.task_id) AND (s.low <= b.low)) ORDER BY s.low DESC LIMIT 1), b.low)) AND (a_1.low <= b.high))))) WHERE ((b.task_id = divvy_unwanted.of_task) AND b.again)) SELECT (GREATEST(COALESCE(sum(CASE WHEN a.again THEN (- e.n) ELSE e.n END), (0)::numeric), (0)::numeric))::bigint AS "greatest" FROM (away a CROSS JOIN LATERAL (SELECT count(*) AS n FROM public.history h WHERE (((h.job >= a.low) AND (h.job <= a.high)) AND (h.task = divvy_unwanted.of_task) AND ((h.state = ANY (ARRAY['x'::"char", 'c'::"char"])) OR (a.again AND (h.state = 'f'::"char")))) UNION ALL SELECT sum(((LEAST(o.high, a.high) - GREATEST(o.low, a.low)) + 1)) AS sum FROM public.over_ranges o WHERE (((o.high >= a.low) AND (o.high <= COALESCE((SELECT p.high FROM public.over_ranges p WHERE (p.high >= a.high) ORDER BY p.high LIMIT 1), a.high))) AND (o.low <= a.high) AND (o.task = divvy_unwanted.of_task))) e));

COMMENT ON FUNCTION public.divvy_unwanted(of_task bigint) IS 'How many pieces that a task was scaled away from are over without a job that finished, as far as that is known.';

CREATE FUNCTION public.divvy_wait_bounds() RETURNS double precision[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN '{1,2,5,10,20,30,60,120,300,600,1200,1800,3600,7200,14400,28800,43200,86400,172800,604800}'::double precision[];

COMMENT ON FUNCTION public.divvy_wait_bounds() IS 'Seconds that bound the buckets of waits.';

CREATE FUNCTION report.ledger_seq(since timestamp with time zone) RETURNS bigint
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    AS $$
DECLARE
    low    bigint := coalesce((SELECT b.seq FROM batches b ORDER BY b.seq LIMIT 1), 1);
    high   bigint := coalesce((SELECT b.seq + 1 FROM batches b ORDER BY b.seq DESC LIMIT 1), 1);
    middle bigint;
BEGIN
    WHILE low < high LOOP
        middle := (low + high) / 2;
        IF (SELECT b.at < since FROM batches b WHERE b.seq = middle) THEN
            low := middle + 1;
        ELSE
            high := middle;
        END IF;
    END LOOP;
    RETURN low;
END $$;

COMMENT ON FUNCTION report.ledger_seq(since timestamp with time zone) IS 'The first seq of report.ledger that is of a time or later.';

CREATE TABLE public.shapes (
    id integer NOT NULL,
    key bytea NOT NULL,
    cores integer NOT NULL,
    memory_mb bigint NOT NULL,
    disk_mb bigint NOT NULL,
    walltime_s bigint NOT NULL,
    labels jsonb NOT NULL,
    queues text[] NOT NULL,
    label text DEFAULT ''::text NOT NULL,
    resources jsonb DEFAULT '{}'::jsonb NOT NULL,
    sharing_id text DEFAULT ''::text NOT NULL,
    locations text[],
    locality text,
    containers boolean DEFAULT false NOT NULL,
    CONSTRAINT shapes_cores_check CHECK ((cores > 0)),
    CONSTRAINT shapes_disk_mb_check CHECK ((disk_mb >= 0)),
    CONSTRAINT shapes_locality_check CHECK ((locality = ANY (ARRAY['required'::text, 'preferred'::text]))),
    CONSTRAINT shapes_locations_check CHECK ((((locations IS NULL) = (locality IS NULL)) AND (cardinality(locations) <> 0))),
    CONSTRAINT shapes_memory_mb_check CHECK ((memory_mb >= 0)),
    CONSTRAINT shapes_walltime_s_check CHECK ((walltime_s >= 0))
);

COMMENT ON TABLE public.shapes IS 'Requirements of jobs, interned: a million jobs of one task share one row.';

COMMENT ON COLUMN public.shapes.key IS 'Equal requirements have one row.';

COMMENT ON COLUMN public.shapes.queues IS 'Selectors: names, globs or labels; empty: any queue.';

COMMENT ON COLUMN public.shapes.resources IS 'Units by name.';

COMMENT ON COLUMN public.shapes.sharing_id IS 'Whose part of the resources; empty where it asks for none.';

COMMENT ON COLUMN public.shapes.locations IS 'Storages that have the inputs, sorted; NULL: any.';

COMMENT ON COLUMN public.shapes.containers IS 'Jobs with an image: only queues that run containers run them.';

CREATE VIEW public.attempt_pieces AS
 SELECT a.job,
    a.attempt,
    a.task,
    a.share,
    a.queue,
    a.node,
    s.cores,
    a.units,
    a.outcome,
    a.granted_at,
    a.ended_at,
    to_timestamp(((h.hour * 3600))::double precision) AS hour,
    e.ms,
    e.ends
   FROM ((((public.history a
     JOIN public.shapes s ON ((s.id = a.shape)))
     CROSS JOIN LATERAL ( SELECT (floor((EXTRACT(epoch FROM a.granted_at) * (1000)::numeric)))::bigint AS begun,
            (floor((EXTRACT(epoch FROM GREATEST(a.ended_at, a.granted_at)) * (1000)::numeric)))::bigint AS ended) b)
     CROSS JOIN LATERAL ( SELECT g.hour
           FROM generate_series((b.begun / 3600000), (b.ended / 3600000)) g(hour)
          WHERE ((g.hour % (1)::bigint) = 0)) h)
     CROSS JOIN LATERAL ( SELECT (LEAST(b.ended, ((h.hour + 1) * 3600000)) - GREATEST(b.begun, (h.hour * 3600000))) AS ms,
            (h.hour = (b.ended / 3600000)) AS ends) e);

COMMENT ON VIEW public.attempt_pieces IS 'What ended attempts cost, one row an attempt and hour: cores and units for so many milliseconds.';

CREATE TABLE public.attempt_texts (
    job_id bigint NOT NULL,
    ended_on date NOT NULL,
    attempt integer NOT NULL,
    reason text,
    log text,
    report jsonb,
    outputs jsonb,
    metadata jsonb
)
PARTITION BY RANGE (ended_on);
ALTER TABLE ONLY public.attempt_texts ALTER COLUMN reason SET STATISTICS 0;
ALTER TABLE ONLY public.attempt_texts ALTER COLUMN log SET STATISTICS 0;
ALTER TABLE ONLY public.attempt_texts ALTER COLUMN report SET STATISTICS 0;
ALTER TABLE ONLY public.attempt_texts ALTER COLUMN outputs SET STATISTICS 0;
ALTER TABLE ONLY public.attempt_texts ALTER COLUMN metadata SET STATISTICS 0;

COMMENT ON TABLE public.attempt_texts IS 'What pilots said of attempts that ended, beside the figures that history has. NULL: nothing.';

COMMENT ON COLUMN public.attempt_texts.ended_on IS 'Day of the end, UTC.';

COMMENT ON COLUMN public.attempt_texts.reason IS 'What the pilot said about the end.';

COMMENT ON COLUMN public.attempt_texts.log IS 'End of stdout and stderr, as the pilot reported.';

COMMENT ON COLUMN public.attempt_texts.report IS 'What its pilot reported beside the rest, by name, the last value of each.';

COMMENT ON COLUMN public.attempt_texts.outputs IS 'What the job made, by name.';

COMMENT ON COLUMN public.attempt_texts.metadata IS 'What the payload reported of itself.';

CREATE TABLE public.audit (
    id bigint NOT NULL,
    at timestamp with time zone DEFAULT now() NOT NULL,
    who text NOT NULL,
    role text NOT NULL,
    subject text NOT NULL,
    token_id bigint,
    what text NOT NULL,
    object text NOT NULL,
    before text NOT NULL,
    after text NOT NULL,
    CONSTRAINT audit_after_check CHECK ((length(after) <= 2000)),
    CONSTRAINT audit_before_check CHECK ((length(before) <= 2000)),
    CONSTRAINT audit_object_check CHECK ((length(object) <= 200)),
    CONSTRAINT audit_subject_check CHECK ((length(subject) <= 100000))
);

COMMENT ON TABLE public.audit IS 'Changes that callers made, each written in the transaction of the change. Kept for keep_audit.';

COMMENT ON COLUMN public.audit.who IS 'Name of the credential.';

COMMENT ON COLUMN public.audit.subject IS 'What the token is bound to: a user, queues, a share.';

COMMENT ON COLUMN public.audit.token_id IS 'Token of the table tokens; NULL: a token of a file, a user of PanDA''s API, or none was asked for.';

COMMENT ON COLUMN public.audit.what IS 'The kind of thing, a dot, the verb.';

ALTER TABLE public.audit ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.audit_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.batches (
    seq bigint NOT NULL,
    id uuid NOT NULL,
    after uuid NOT NULL,
    at timestamp with time zone NOT NULL,
    by bigint NOT NULL,
    kinds text NOT NULL,
    granted_jobs bigint[],
    granted_attempts integer[],
    granted_nonces bigint[],
    granted_tasks bigint[],
    granted_shares integer[],
    granted_shapes integer[],
    granted_places bigint[],
    granted_queues integer[],
    granted_units bigint[],
    granted_pilots text[],
    granted_nodes text[],
    granted_requests uuid[],
    ended_jobs bigint[],
    ended_attempts integer[],
    ended_outcomes text,
    ended_next text,
    ended_exit_codes integer[],
    ended_cpu_milli bigint[],
    ended_memory_mb bigint[],
    started_jobs bigint[],
    started_attempts integer[],
    started_ttls integer[],
    rare jsonb[],
    CONSTRAINT batches_seq_check CHECK ((seq >= 1))
)
PARTITION BY RANGE (seq);

COMMENT ON TABLE public.batches IS 'The log: all that was decided, a row a batch, in the order of seq, which has no gaps. Whoever applies the rows from the first on has the state of the dispatcher. An array of one value means that all entries have it; NULL: there is no such entry. report.ledger has a row an entry.';

COMMENT ON COLUMN public.batches.seq IS 'From 1. A row is inserted by whoever has applied the one before it: the primary key is the fence between daemons.';

COMMENT ON COLUMN public.batches.id IS 'Drawn by the writer.';

COMMENT ON COLUMN public.batches.after IS 'The id of the row before; zeros for the first.';

COMMENT ON COLUMN public.batches.at IS 'Time of the append. It never falls.';

COMMENT ON COLUMN public.batches.by IS 'The daemon that wrote it.';

COMMENT ON COLUMN public.batches.kinds IS 'A letter an entry, in their order: g, e, s stand in the columns below, all others in rare.';

COMMENT ON COLUMN public.batches.granted_nonces IS 'The secrets of tokens of leases.';

COMMENT ON COLUMN public.batches.granted_units IS 'Thousandths of a unit.';

COMMENT ON COLUMN public.batches.granted_requests IS 'Of pulls; zeros: the pull had none.';

COMMENT ON COLUMN public.batches.ended_outcomes IS 'A letter an entry: f finished, x failed, l lost, c cancelled, r returned by order of the dispatcher.';

COMMENT ON COLUMN public.batches.ended_next IS 'A letter an entry, what becomes of the job: . over, c cancelled whatever the outcome, r ready again, w a rule decides later.';

COMMENT ON COLUMN public.batches.started_ttls IS 'Seconds for which its renewals ask; 0: the default.';

COMMENT ON COLUMN public.batches.rare IS 'The entries of all other kinds, in their order.';

CREATE TABLE public.black_holes (
    queue_id integer NOT NULL,
    since timestamp with time zone DEFAULT now() NOT NULL,
    ends integer NOT NULL,
    fails integer NOT NULL,
    good integer DEFAULT 0 NOT NULL,
    bad_at timestamp with time zone DEFAULT now() NOT NULL,
    probe_s integer NOT NULL
);

COMMENT ON TABLE public.black_holes IS 'Queues that fail nearly all that they get while other queues do not. They get a job now and then, until these finish.';

COMMENT ON COLUMN public.black_holes.ends IS 'Attempts that had ended there when it was found.';

COMMENT ON COLUMN public.black_holes.fails IS 'Those of them that failed or were lost.';

COMMENT ON COLUMN public.black_holes.good IS 'Attempts that finished since the last one that did not.';

COMMENT ON COLUMN public.black_holes.bad_at IS 'When an attempt there last failed or was lost.';

COMMENT ON COLUMN public.black_holes.probe_s IS 'How often it gets a job, as the log has it.';

CREATE TABLE public.claim_jobs (
    low bigint NOT NULL,
    high bigint NOT NULL,
    party bigint NOT NULL,
    place integer NOT NULL,
    CONSTRAINT claim_jobs_check CHECK ((low <= high))
)
WITH (fillfactor='90');

COMMENT ON TABLE public.claim_jobs IS 'Which jobs are of which party: ranges of ids, disjoint, those that are over among them.';

COMMENT ON COLUMN public.claim_jobs.place IS 'In the order in which they joined their party.';

CREATE TABLE public.claim_keys (
    id bigint NOT NULL,
    task_id bigint NOT NULL,
    key text NOT NULL,
    members bigint DEFAULT 0 NOT NULL,
    made bigint DEFAULT 0 NOT NULL,
    queue_id integer,
    said bigint,
    max_sharers integer DEFAULT 0 NOT NULL,
    node text DEFAULT ''::text NOT NULL,
    devices text[] DEFAULT '{}'::text[] NOT NULL,
    CONSTRAINT claim_keys_check CHECK ((made <= members)),
    CONSTRAINT claim_keys_key_check CHECK ((key <> ''::text))
);

COMMENT ON TABLE public.claim_keys IS 'The ids of claims by name, and how many jobs the log was told of. What becomes of a claim is in the log.';

COMMENT ON COLUMN public.claim_keys.task_id IS '0: people make it, and queue_id says where it is.';

COMMENT ON COLUMN public.claim_keys.members IS 'Jobs that the log was told will hold it.';

COMMENT ON COLUMN public.claim_keys.made IS 'Of these, those that are made or never will be.';

COMMENT ON COLUMN public.claim_keys.queue_id IS 'NULL: people have not made it, or have deleted it.';

COMMENT ON COLUMN public.claim_keys.said IS 'The row of outbox that made it there: where it was refused, the claim is not made.';

ALTER TABLE public.claim_keys ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.claim_keys_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.claim_parties (
    nth bigint NOT NULL,
    task bigint NOT NULL,
    jobs bigint NOT NULL,
    claims bigint[] NOT NULL
)
WITH (fillfactor='70', autovacuum_vacuum_scale_factor='0.05', autovacuum_vacuum_cost_delay='0');

COMMENT ON TABLE public.claim_parties IS 'Jobs of a task that hold the same claims. They go when all of their jobs are over.';

COMMENT ON COLUMN public.claim_parties.nth IS 'Of the entry that made it, as held.nth: parties count in this order.';

COMMENT ON COLUMN public.claim_parties.jobs IS 'That are not over.';

CREATE TABLE public.claims (
    id bigint NOT NULL,
    task bigint NOT NULL,
    key text NOT NULL,
    state text NOT NULL,
    queue integer NOT NULL,
    node text NOT NULL,
    devices text[] NOT NULL,
    share integer NOT NULL,
    sharers integer NOT NULL,
    jobs integer NOT NULL,
    missing boolean NOT NULL,
    made_at timestamp with time zone NOT NULL,
    bound_at timestamp with time zone,
    idle_since timestamp with time zone,
    look_at timestamp with time zone,
    ended_at timestamp with time zone,
    sharing_id text NOT NULL,
    label text NOT NULL,
    template jsonb NOT NULL,
    saved jsonb NOT NULL,
    CONSTRAINT claims_state_check CHECK ((state = ANY (ARRAY['pending'::text, 'bound'::text, 'draining'::text, 'released'::text])))
)
WITH (fillfactor='70', autovacuum_vacuum_scale_factor='0.05', autovacuum_vacuum_cost_delay='0');

COMMENT ON TABLE public.claims IS 'Claims, as of folded: what several jobs hold together while one of them has a lease, such as a node or devices of it. One that ended has the place and the devices that it had before.';

COMMENT ON COLUMN public.claims.task IS 'Task of the claim. 0: people made it, and say where it is and when it ends.';

COMMENT ON COLUMN public.claims.key IS 'Which of the claims of the task. Of a claim that people made, its name.';

COMMENT ON COLUMN public.claims.state IS 'draining: it is not wanted any more; no other job gets to hold it, and it ends with its last holder.';

COMMENT ON COLUMN public.claims.queue IS 'With node: where it is bound; 0: nowhere.';

COMMENT ON COLUMN public.claims.devices IS 'Devices of that node that are reserved for it.';

COMMENT ON COLUMN public.claims.share IS 'Share that its units are charged to, of the job that bound it; 0: none.';

COMMENT ON COLUMN public.claims.sharers IS 'Leases of its jobs.';

COMMENT ON COLUMN public.claims.jobs IS 'Jobs that hold it or may yet.';

COMMENT ON COLUMN public.claims.missing IS 'It waits for a template of the site.';

COMMENT ON COLUMN public.claims.bound_at IS 'When it was bound where it is; NULL: it is not bound.';

COMMENT ON COLUMN public.claims.idle_since IS 'Since when it is bound without a sharer.';

COMMENT ON COLUMN public.claims.look_at IS 'When it is unbound if nobody holds it then.';

COMMENT ON COLUMN public.claims.ended_at IS 'When nothing was left of it. It is kept for as long as a replay may look back.';

COMMENT ON COLUMN public.claims.sharing_id IS 'Whom its units are counted for; label: where they are split by label.';

COMMENT ON COLUMN public.claims.template IS 'What it takes, as the entry has it: Name, Resources, Node, Devices by kind, MaxSharers, Linger in nanoseconds, Gang.';

COMMENT ON COLUMN public.claims.saved IS 'All of it, as a start reads it.';

CREATE TABLE public.task_counts (
    task bigint NOT NULL,
    ready bigint NOT NULL,
    paused bigint NOT NULL,
    held bigint NOT NULL,
    waiting bigint NOT NULL,
    finished bigint NOT NULL,
    failed bigint NOT NULL,
    cancelled bigint NOT NULL,
    begun_at timestamp with time zone,
    over_at timestamp with time zone,
    user_name text NOT NULL
)
WITH (fillfactor='60', autovacuum_vacuum_scale_factor='0.05', autovacuum_vacuum_cost_delay='0');

COMMENT ON TABLE public.task_counts IS 'Jobs of a task by state, as of folded. waiting and paused are jobs that may not run yet.';

COMMENT ON COLUMN public.task_counts.begun_at IS 'When its first lease was granted.';

COMMENT ON COLUMN public.task_counts.over_at IS 'When the last of its jobs that are over was so.';

COMMENT ON COLUMN public.task_counts.user_name IS 'Whose task it is.';

CREATE TABLE public.tasks (
    id bigint NOT NULL,
    name text NOT NULL,
    user_name text NOT NULL,
    state text DEFAULT 'submitting'::text NOT NULL,
    resume_state text,
    reason text DEFAULT ''::text NOT NULL,
    share_id integer,
    own_share_id integer,
    shape_id integer,
    priority integer DEFAULT 0 NOT NULL,
    max_attempts integer DEFAULT 3 NOT NULL,
    attributes jsonb DEFAULT '{}'::jsonb NOT NULL,
    spec json NOT NULL,
    tagged_by jsonb DEFAULT '{}'::jsonb NOT NULL,
    site_version bigint DEFAULT 0 NOT NULL,
    split text DEFAULT 'count'::text NOT NULL,
    per_job bigint DEFAULT 1 NOT NULL,
    n_events bigint DEFAULT 0 NOT NULL,
    n_inputs bigint DEFAULT 0 NOT NULL,
    n_pieces bigint DEFAULT 0 NOT NULL,
    n_split bigint DEFAULT 0 NOT NULL,
    n_jobs bigint DEFAULT 0 NOT NULL,
    n_generated bigint DEFAULT 0 NOT NULL,
    retry_after bigint DEFAULT 0 NOT NULL,
    idempotency_key text,
    body_hash bytea,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    committed_at timestamp with time zone,
    started_at timestamp with time zone,
    ended_at timestamp with time zone,
    parameters json,
    scaled jsonb,
    lots integer,
    scouts integer,
    scouted jsonb,
    n_halves bigint,
    quota bigint,
    limited text,
    chain text,
    n_released bigint,
    max_running integer,
    CONSTRAINT tasks_chain_check CHECK ((chain = ANY (ARRAY['open'::text, 'broken'::text]))),
    CONSTRAINT tasks_check CHECK ((n_split <= n_generated)),
    CONSTRAINT tasks_check1 CHECK ((n_generated <= n_jobs)),
    CONSTRAINT tasks_check2 CHECK (((ended_at IS NOT NULL) = (state = ANY (ARRAY['done'::text, 'finished'::text, 'failed'::text, 'aborted'::text])))),
    CONSTRAINT tasks_check3 CHECK (((share_id IS NOT NULL) OR (state = ANY (ARRAY['submitting'::text, 'waiting'::text, 'aborted'::text])))),
    CONSTRAINT tasks_name_check CHECK ((name <> ''::text)),
    CONSTRAINT tasks_per_job_check CHECK ((per_job >= 1)),
    CONSTRAINT tasks_resume_state CHECK (((resume_state IS NULL) OR (state = ANY (ARRAY['paused'::text, 'throttled'::text])))),
    CONSTRAINT tasks_scouts_check CHECK ((scouts > 0)),
    CONSTRAINT tasks_split_check CHECK ((split = ANY (ARRAY['count'::text, 'inputs'::text, 'events'::text, 'matrix'::text, 'groups'::text]))),
    CONSTRAINT tasks_state_check CHECK ((state = ANY (ARRAY['submitting'::text, 'waiting'::text, 'ready'::text, 'scouting'::text, 'running'::text, 'paused'::text, 'throttled'::text, 'exhausted'::text, 'finishing'::text, 'done'::text, 'finished'::text, 'failed'::text, 'aborting'::text, 'aborted'::text]))),
    CONSTRAINT tasks_user_name_check CHECK ((user_name <> ''::text))
)
WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0.05', autovacuum_vacuum_cost_delay='0');

COMMENT ON TABLE public.tasks IS 'What users ask for, with the counts of its jobs. Ended tasks stay.';

COMMENT ON COLUMN public.tasks.resume_state IS 'The state to which a paused or throttled task returns.';

COMMENT ON COLUMN public.tasks.share_id IS 'The share that the jobs go to: what generation and demand read.';

COMMENT ON COLUMN public.tasks.own_share_id IS 'The share that the task asked for, where a rule on a job attribute sends its jobs to another; else NULL.';

COMMENT ON COLUMN public.tasks.shape_id IS 'Shape of its jobs; NULL: not known yet.';

COMMENT ON COLUMN public.tasks.tagged_by IS 'How the share was chosen, by which rule of site_version.';

COMMENT ON COLUMN public.tasks.split IS 'What a piece is made of.';

COMMENT ON COLUMN public.tasks.per_job IS 'Inputs or events of a piece.';

COMMENT ON COLUMN public.tasks.n_pieces IS 'Pieces of the work. n_jobs = pieces + jobs that try a piece again; n_generated of these are made, n_split of them for the first time of a piece.';

COMMENT ON COLUMN public.tasks.retry_after IS 'Failed and cancelled jobs up to this id have been tried again.';

COMMENT ON COLUMN public.tasks.idempotency_key IS 'Key of the submission: a repeat finds its task. body_hash tells whether it is the same task.';

COMMENT ON COLUMN public.tasks.parameters IS 'What the task was submitted as where that was not a Spec: all of PanDA''s task parameters. NULL: it was a Spec.';

COMMENT ON COLUMN public.tasks.scaled IS 'Numbers of a task of groups that differ from those it was submitted with; its pieces to come are inputs by name. NULL: it was never scaled.';

COMMENT ON COLUMN public.tasks.lots IS 'Number of lots that its pieces are cut from. NULL: piece i is the i-th run of per_job inputs or events.';

COMMENT ON COLUMN public.tasks.scouts IS 'Number of pieces that are made first, and measured; NULL: none. Until scouted is set n_jobs is no more than this.';

COMMENT ON COLUMN public.tasks.scouted IS 'What the scouts measured, and what the task was resized to; NULL: not over, or there were none.';

COMMENT ON COLUMN public.tasks.n_halves IS 'Of its pieces, how many are second halves of others; NULL: none. n_pieces, n_split and n_released have them.';

COMMENT ON COLUMN public.tasks.quota IS 'Limits of the site, or max_running, let n_generated rise to this; NULL: none concerns the task.';

COMMENT ON COLUMN public.tasks.limited IS 'The limit, or max_running, that keeps the task from making more jobs, or any; NULL: none.';

COMMENT ON COLUMN public.tasks.chain IS 'Of tasks whose pieces follow those of others. open: more may come; broken: not all came, so that it cannot be done. NULL: neither.';

COMMENT ON COLUMN public.tasks.n_released IS 'Of tasks whose pieces wait for those of others: how many may be jobs; released_pieces has which. NULL: all may.';

COMMENT ON COLUMN public.tasks.max_running IS 'So many of its jobs are ready or running at once, at the most; NULL: any number.';

CREATE VIEW public.counted_tasks AS
 SELECT t.id,
    t.name,
    t.user_name,
    t.state,
    t.resume_state,
    t.reason,
    t.share_id,
    t.own_share_id,
    t.shape_id,
    t.priority,
    t.max_attempts,
    t.attributes,
    t.spec,
    t.tagged_by,
    t.site_version,
    t.split,
    t.per_job,
    t.n_events,
    t.n_inputs,
    t.n_pieces,
    t.n_split,
    t.n_jobs,
    t.n_generated,
    t.retry_after,
    t.idempotency_key,
    t.body_hash,
    t.created_at,
    t.committed_at,
    t.started_at,
    t.ended_at,
    t.parameters,
    t.scaled,
    t.lots,
    t.scouts,
    t.scouted,
    t.n_halves,
    t.quota,
    t.limited,
    t.chain,
    t.n_released,
    COALESCE((c.waiting + c.paused), (0)::bigint) AS n_waiting,
    COALESCE(c.ready, (0)::bigint) AS n_ready,
    COALESCE(c.held, (0)::bigint) AS n_leased,
    COALESCE(c.finished, (0)::bigint) AS n_finished,
    COALESCE(c.failed, (0)::bigint) AS n_failed,
    COALESCE(c.cancelled, (0)::bigint) AS n_cancelled
   FROM (public.tasks t
     LEFT JOIN public.task_counts c ON ((c.task = t.id)));

COMMENT ON VIEW public.counted_tasks IS 'Tasks with the counts of their jobs, as of folded. A row lock is taken on tasks itself.';

CREATE TABLE public.daemons (
    id bigint NOT NULL,
    host text NOT NULL,
    pid integer NOT NULL,
    started_at timestamp with time zone DEFAULT now() NOT NULL,
    seen_at timestamp with time zone DEFAULT now() NOT NULL,
    closed_at timestamp with time zone,
    address text DEFAULT ''::text NOT NULL,
    secret text DEFAULT ''::text NOT NULL,
    version text DEFAULT ''::text NOT NULL
);

COMMENT ON TABLE public.daemons IS 'One row for each start of a daemon.';

COMMENT ON COLUMN public.daemons.address IS 'host:port at which other daemons reach it; empty: nowhere.';

COMMENT ON COLUMN public.daemons.secret IS 'What other daemons must show there; made anew at every start.';

COMMENT ON COLUMN public.daemons.version IS 'Its release, or the commit that it was built from.';

ALTER TABLE public.daemons ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.daemons_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.day_usage (
    day timestamp with time zone NOT NULL,
    slot_ms bigint NOT NULL,
    unit_ms bigint NOT NULL,
    wasted_slot_ms bigint NOT NULL,
    cpu_ms bigint NOT NULL,
    finished bigint NOT NULL,
    failed bigint NOT NULL,
    lost bigint NOT NULL,
    cancelled bigint NOT NULL,
    returned bigint NOT NULL,
    share integer NOT NULL,
    queue integer NOT NULL,
    user_name text NOT NULL
)
WITH (fillfactor='60', autovacuum_vacuum_scale_factor='0.05', autovacuum_vacuum_cost_delay='0');

COMMENT ON TABLE public.day_usage IS 'hour_usage by the day, kept for longer.';

COMMENT ON COLUMN public.day_usage.day IS 'Begin of the day, UTC.';

COMMENT ON COLUMN public.day_usage.slot_ms IS 'Cores times milliseconds.';

COMMENT ON COLUMN public.day_usage.unit_ms IS 'Thousandths of units times milliseconds.';

COMMENT ON COLUMN public.day_usage.wasted_slot_ms IS 'slot_ms of attempts that failed, were lost or returned.';

CREATE TABLE public.end_counts (
    hour timestamp with time zone NOT NULL,
    n bigint NOT NULL,
    share integer NOT NULL,
    shape integer NOT NULL,
    queue integer NOT NULL,
    outcome "char" NOT NULL,
    state "char" NOT NULL
)
WITH (fillfactor='60', autovacuum_vacuum_scale_factor='0.05', autovacuum_vacuum_cost_delay='0');

COMMENT ON TABLE public.end_counts IS 'Attempts that ended, by the hour of their end.';

COMMENT ON COLUMN public.end_counts.outcome IS 'Of the attempt, as of history.';

COMMENT ON COLUMN public.end_counts.state IS 'Of the job from then on, as of history.';

CREATE TABLE public.expected (
    share integer NOT NULL,
    shape integer NOT NULL,
    jobs bigint NOT NULL,
    CONSTRAINT expected_jobs_check CHECK ((jobs >= 0))
)
WITH (fillfactor='60');

COMMENT ON TABLE public.expected IS 'Jobs that generators have still to make, as they said last.';

CREATE TABLE public.fairness_hours (
    hour timestamp with time zone NOT NULL,
    pool text NOT NULL,
    share_id integer NOT NULL,
    seconds double precision NOT NULL,
    target_seconds double precision NOT NULL,
    held_seconds double precision NOT NULL,
    missed_seconds double precision NOT NULL,
    starved_seconds double precision NOT NULL,
    busy_seconds double precision NOT NULL
);

COMMENT ON TABLE public.fairness_hours IS 'What every share was promised and given in an hour: integrals over share_samples. A sample counts until the next one, for ten minutes at most, since there may have been no daemon. target, held, missed: in units x seconds.';

COMMENT ON COLUMN public.fairness_hours.missed_seconds IS 'Of target - held where that was above zero and the share had ready jobs.';

COMMENT ON COLUMN public.fairness_hours.starved_seconds IS 'Seconds in which it had ready jobs and a target of a unit or more, and held nothing while others of its pool did.';

COMMENT ON COLUMN public.fairness_hours.busy_seconds IS 'Seconds in which it had ready jobs or held something.';

CREATE TABLE public.folded (
    only_row boolean DEFAULT true NOT NULL,
    seq bigint NOT NULL,
    id uuid NOT NULL,
    at timestamp with time zone NOT NULL,
    CONSTRAINT folded_only_row_check CHECK (only_row)
)
WITH (fillfactor='10');

COMMENT ON TABLE public.folded IS 'Up to which batch the tables of this file, claims, history and usage are made: one row.';

COMMENT ON COLUMN public.folded.id IS 'Of the batch, like at.';

CREATE TABLE public.generations (
    share_id integer NOT NULL,
    epoch bigint DEFAULT 0 NOT NULL,
    at timestamp with time zone DEFAULT now() NOT NULL
)
WITH (fillfactor='50');

COMMENT ON TABLE public.generations IS 'The fence of generation: whoever generates for a share raises its epoch in the same transaction.';

CREATE TABLE public.halves (
    task_id bigint NOT NULL,
    idx bigint NOT NULL,
    piece bigint NOT NULL,
    again boolean NOT NULL,
    job_id bigint NOT NULL,
    CONSTRAINT halves_idx_check CHECK ((idx >= '1000000000000'::bigint)),
    CONSTRAINT halves_piece_check CHECK (((piece >= 0) AND (piece <= '999999999999'::bigint)))
);

COMMENT ON TABLE public.halves IS 'Second halves of pieces that were split because their jobs failed.';

COMMENT ON COLUMN public.halves.idx IS 'Index of the half; indexes of pieces as they were cut are smaller.';

COMMENT ON COLUMN public.halves.piece IS 'Index of the piece that it is a part of, as that was cut.';

COMMENT ON COLUMN public.halves.again IS 'The piece had ended once, and was tried again, before it was split.';

COMMENT ON COLUMN public.halves.job_id IS 'The job that has the first half.';

CREATE TABLE public.harvester_commands (
    id bigint NOT NULL,
    harvester_id text NOT NULL,
    command text NOT NULL,
    params jsonb,
    ack_requested boolean DEFAULT false NOT NULL,
    status text DEFAULT 'new'::text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    changed_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT harvester_commands_status_check CHECK ((status = ANY (ARRAY['new'::text, 'retrieved'::text, 'acknowledged'::text])))
);

COMMENT ON TABLE public.harvester_commands IS 'Commands that wait for a Harvester, and those that it has fetched.';

ALTER TABLE public.harvester_commands ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.harvester_commands_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.harvester_dialogs (
    harvester_id text NOT NULL,
    diag_id bigint NOT NULL,
    module text DEFAULT ''::text NOT NULL,
    identifier text DEFAULT ''::text NOT NULL,
    level text DEFAULT ''::text NOT NULL,
    message text DEFAULT ''::text NOT NULL,
    said_at timestamp with time zone NOT NULL
);

COMMENT ON TABLE public.harvester_dialogs IS 'Messages of Harvesters to the people who run the site.';

CREATE TABLE public.harvester_metrics (
    harvester_id text NOT NULL,
    host text NOT NULL,
    at timestamp with time zone NOT NULL,
    metrics jsonb NOT NULL
);

COMMENT ON TABLE public.harvester_metrics IS 'State of the host of a Harvester: memory, CPU, disk, life left of its certificates.';

CREATE TABLE public.harvester_worker_stats (
    harvester_id text NOT NULL,
    queue text NOT NULL,
    job_type text NOT NULL,
    resource_type text NOT NULL,
    status text NOT NULL,
    n bigint NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL
);

COMMENT ON TABLE public.harvester_worker_stats IS 'Numbers of workers as a Harvester last counted them.';

CREATE TABLE public.harvester_workers (
    harvester_id text NOT NULL,
    worker_id bigint NOT NULL,
    queue text DEFAULT ''::text NOT NULL,
    status text NOT NULL,
    job_type text DEFAULT ''::text NOT NULL,
    resource_type text DEFAULT ''::text NOT NULL,
    fields jsonb DEFAULT '{}'::jsonb NOT NULL,
    submitted_at timestamp with time zone,
    started_at timestamp with time zone,
    ended_at timestamp with time zone,
    pilot_status text DEFAULT ''::text NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL
)
WITH (fillfactor='80');

COMMENT ON TABLE public.harvester_workers IS 'Workers as their Harvester last described them; fields: what it said beside the columns, under its names.';

CREATE TABLE public.harvesters (
    id text NOT NULL,
    host text DEFAULT ''::text NOT NULL,
    user_name text DEFAULT ''::text NOT NULL,
    metadata jsonb DEFAULT '{}'::jsonb NOT NULL,
    first_seen timestamp with time zone DEFAULT now() NOT NULL,
    seen_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT harvesters_id_check CHECK ((id <> ''::text))
);

COMMENT ON TABLE public.harvesters IS 'Every Harvester that has called.';

CREATE TABLE public.held (
    job bigint NOT NULL,
    nth bigint NOT NULL,
    nonce bigint NOT NULL,
    task bigint NOT NULL,
    place bigint NOT NULL,
    units bigint NOT NULL,
    granted_at timestamp with time zone NOT NULL,
    request uuid NOT NULL,
    attempt integer NOT NULL,
    share integer NOT NULL,
    shape integer NOT NULL,
    queue integer NOT NULL,
    start_delay_ms integer NOT NULL,
    ttl_s integer NOT NULL,
    grace_s integer NOT NULL,
    pilot text NOT NULL,
    node text NOT NULL,
    reason text NOT NULL
)
WITH (fillfactor='90', autovacuum_vacuum_scale_factor='0.05', autovacuum_vacuum_cost_delay='0');

COMMENT ON TABLE public.held IS 'The leases that have not ended, as of folded. Those that ended within a step of the fold are never here. Columns of this and the other tables stand by width, so that few bytes are padding.';

COMMENT ON COLUMN public.held.nth IS 'Where the grant stands in the log: seq of its batch times 2^20, and its place in it.';

COMMENT ON COLUMN public.held.nonce IS 'Random number that fences the lease, together with job and attempt.';

COMMENT ON COLUMN public.held.place IS 'From where in the order of the share it was taken.';

COMMENT ON COLUMN public.held.units IS 'Thousandths of a unit: cores x the core power of the queue.';

COMMENT ON COLUMN public.held.request IS 'Of the pull; zeros: it had none.';

COMMENT ON COLUMN public.held.share IS 'As of the grant, as place: what was said of the job since is in moves.';

COMMENT ON COLUMN public.held.start_delay_ms IS 'From the grant until its pilot said that it runs; -1: it has not.';

COMMENT ON COLUMN public.held.ttl_s IS 'Seconds that its renewals ask for; 0: the default.';

COMMENT ON COLUMN public.held.grace_s IS 'Of the order to end.';

COMMENT ON COLUMN public.held.reason IS 'Of the order to end it alone; empty: there is none, but see kills.';

CREATE TABLE public.hour_usage (
    hour timestamp with time zone NOT NULL,
    slot_ms bigint NOT NULL,
    unit_ms bigint NOT NULL,
    wasted_slot_ms bigint NOT NULL,
    cpu_ms bigint NOT NULL,
    finished bigint NOT NULL,
    failed bigint NOT NULL,
    lost bigint NOT NULL,
    cancelled bigint NOT NULL,
    returned bigint NOT NULL,
    share integer NOT NULL,
    queue integer NOT NULL,
    user_name text NOT NULL
)
WITH (fillfactor='60', autovacuum_vacuum_scale_factor='0.05', autovacuum_vacuum_cost_delay='0');

COMMENT ON TABLE public.hour_usage IS 'What attempts that ended cost, by the hour in which it was used. They are counted in the hour of their end, their cpu_ms too. Begin and end count to the millisecond.';

COMMENT ON COLUMN public.hour_usage.slot_ms IS 'Cores times milliseconds.';

COMMENT ON COLUMN public.hour_usage.unit_ms IS 'Thousandths of units times milliseconds.';

COMMENT ON COLUMN public.hour_usage.wasted_slot_ms IS 'slot_ms of attempts that failed, were lost or returned.';

COMMENT ON COLUMN public.hour_usage.user_name IS 'Whose task it was.';

CREATE TABLE public.idle_ranges (
    high bigint NOT NULL,
    low bigint NOT NULL,
    task bigint NOT NULL,
    place bigint NOT NULL,
    share integer NOT NULL,
    shape integer NOT NULL,
    attempt integer NOT NULL,
    state "char" NOT NULL,
    CONSTRAINT idle_ranges_check CHECK ((low <= high)),
    CONSTRAINT idle_ranges_state_check CHECK ((state = ANY (ARRAY['r'::"char", 'p'::"char", 'w'::"char"])))
)
WITH (fillfactor='60', autovacuum_vacuum_scale_factor='0.05', autovacuum_vacuum_cost_delay='0');

COMMENT ON TABLE public.idle_ranges IS 'The live jobs without a lease, as of folded: ranges of ids that are alike, as long as they can be.';

COMMENT ON COLUMN public.idle_ranges.place IS 'Order inside a share: ascending place, then id. It is -priority, or with aging the value that shares.Aging computes.';

COMMENT ON COLUMN public.idle_ranges.attempt IS 'The next one of each job.';

COMMENT ON COLUMN public.idle_ranges.state IS 'r ready, p paused with its task, w waits for a rule after an attempt that did not finish.';

CREATE TABLE public.inputs (
    task_id bigint NOT NULL,
    "position" bigint NOT NULL,
    names text[] NOT NULL,
    sizes bigint[],
    events bigint[],
    CONSTRAINT inputs_check CHECK ((cardinality(sizes) = cardinality(names))),
    CONSTRAINT inputs_check1 CHECK ((cardinality(events) = cardinality(names))),
    CONSTRAINT inputs_names_check CHECK (((cardinality(names) >= 1) AND (cardinality(names) <= 1000))),
    CONSTRAINT inputs_position_check CHECK (("position" >= 0))
);

COMMENT ON TABLE public.inputs IS 'Inputs of tasks in runs: names[1] is the input at position.';

COMMENT ON COLUMN public.inputs."position" IS 'Position of the first input of the run. Those of lot n begin at 2^32 x n.';

COMMENT ON COLUMN public.inputs.sizes IS 'Bytes of each input, 0 where they are not known; NULL: of none.';

COMMENT ON COLUMN public.inputs.events IS 'Events of each input, 0 where they are not known; NULL: of none.';

CREATE SEQUENCE public.job_ids
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

COMMENT ON SEQUENCE public.job_ids IS 'Ids of jobs: taken by divvy_take_ids alone. No cache, so that they rise with time.';

CREATE TABLE public.jobs (
    id bigint NOT NULL,
    idx bigint NOT NULL,
    first_event bigint,
    n_events bigint,
    retry_of bigint,
    inputs text[],
    claims bigint[]
)
PARTITION BY RANGE (id);
ALTER TABLE ONLY public.jobs ALTER COLUMN inputs SET STATISTICS 0;

COMMENT ON TABLE public.jobs IS 'A row a job, live or over, that nothing changes but a split of its piece: all else is in the log. At most eight columns, so that the bitmap of NULLs costs nothing.';

COMMENT ON COLUMN public.jobs.idx IS 'Of the piece of the task.';

COMMENT ON COLUMN public.jobs.first_event IS 'Of a job that runs events: the first one.';

COMMENT ON COLUMN public.jobs.n_events IS 'And how many.';

COMMENT ON COLUMN public.jobs.retry_of IS 'The job whose piece it tries again.';

COMMENT ON COLUMN public.jobs.claims IS 'That it holds while it has a lease.';

CREATE TABLE public.judged (
    only_row boolean DEFAULT true NOT NULL,
    at timestamp with time zone NOT NULL,
    job bigint NOT NULL,
    CONSTRAINT judged_only_row_check CHECK (only_row)
)
WITH (fillfactor='10');

COMMENT ON TABLE public.judged IS 'Up to which attempt of history it is decided what becomes of jobs that wait: one row, which is the lock of whoever decides.';

COMMENT ON COLUMN public.judged.at IS 'End of the attempt.';

CREATE TABLE public.judgements (
    job_id bigint NOT NULL,
    attempt integer NOT NULL,
    noted_at timestamp with time zone DEFAULT now() NOT NULL,
    note text NOT NULL
);

COMMENT ON TABLE public.judgements IS 'What rules of the site or terms of the task said of attempts. One that is not here was tried again as ever, or used up the last attempt.';

CREATE TABLE public.kills (
    nth bigint NOT NULL,
    task bigint NOT NULL,
    low bigint NOT NULL,
    high bigint NOT NULL,
    grace_s integer NOT NULL,
    idle boolean NOT NULL,
    reason text NOT NULL
);

COMMENT ON TABLE public.kills IS 'Orders that jobs of a task end which had a lease then, a row an entry, kept until the last lease of the task is gone. Of two about a lease the later one counts.';

COMMENT ON COLUMN public.kills.nth IS 'Of the entry, as held.nth.';

COMMENT ON COLUMN public.kills.idle IS 'Attempts run to their end and count; their jobs are not tried again.';

CREATE TABLE public.latest (
    kind "char" NOT NULL,
    key bigint NOT NULL,
    name text NOT NULL,
    entry jsonb NOT NULL
)
WITH (fillfactor='60');

COMMENT ON TABLE public.latest IS 'The newest entry of each kind that has no table of its own: shapes, site, targets, polled queues, leader, time.';

COMMENT ON COLUMN public.latest.kind IS 'A letter, as of batches.kinds.';

COMMENT ON COLUMN public.latest.key IS 'The shape, the queue, the share; 0: none.';

COMMENT ON COLUMN public.latest.name IS 'The resource, the pool; empty: none.';

COMMENT ON COLUMN public.latest.entry IS 'As JSON.';

CREATE TABLE public.lease_reports (
    job_id bigint NOT NULL,
    attempt integer NOT NULL,
    said_at timestamp with time zone DEFAULT now() NOT NULL,
    report jsonb NOT NULL
)
WITH (fillfactor='70', autovacuum_vacuum_scale_factor='0.05', autovacuum_vacuum_cost_delay='0');
ALTER TABLE ONLY public.lease_reports ALTER COLUMN report SET STATISTICS 0;

COMMENT ON TABLE public.lease_reports IS 'What pilots report of attempts that run, at renewals. The fold puts it into attempt_texts when they have ended.';

COMMENT ON COLUMN public.lease_reports.report IS 'By name, the last value of each.';

CREATE TABLE public.moves (
    nth bigint NOT NULL,
    task bigint NOT NULL,
    low bigint NOT NULL,
    high bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    place bigint NOT NULL,
    from_share integer NOT NULL,
    share integer NOT NULL,
    running boolean NOT NULL
);

COMMENT ON TABLE public.moves IS 'What was said of jobs while they had a lease, a row an entry, kept until the last lease of the task is gone. It is about leases that were granted before it.';

COMMENT ON COLUMN public.moves.nth IS 'Of the entry, as held.nth.';

COMMENT ON COLUMN public.moves.at IS 'From when on leases are charged to share, where running.';

COMMENT ON COLUMN public.moves.from_share IS 'Jobs of this share; 0: of any.';

COMMENT ON COLUMN public.moves.share IS 'To which jobs come back, at place; 0: they stay in theirs.';

CREATE VIEW public.leases_now AS
 SELECT h.job,
    h.task,
    h.attempt,
        CASE
            WHEN (h.task IN ( SELECT m.task
               FROM public.moves m
              WHERE (m.share <> 0))) THEN public.divvy_payer(h.task, h.job, h.nth, h.share)
            ELSE h.share
        END AS share,
    h.shape,
    h.queue,
    h.units,
    h.granted_at,
    h.start_delay_ms,
    h.pilot,
    h.node,
    COALESCE(k.reason, h.reason) AS reason,
    COALESCE(k.grace_s, h.grace_s) AS grace_s
   FROM (public.held h
     LEFT JOIN LATERAL ( SELECT o.reason,
            o.grace_s
           FROM public.kills o
          WHERE ((o.task = h.task) AND ((h.job >= o.low) AND (h.job <= o.high)) AND (NOT o.idle))
          ORDER BY o.nth DESC
         LIMIT 1) k ON (true));

COMMENT ON VIEW public.leases_now IS 'held as people see it: who is charged now, and the order to end, be it of the lease alone or of its task.';

CREATE TABLE public.lineage (
    only_row boolean DEFAULT true NOT NULL,
    place text NOT NULL,
    since timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT lineage_only_row_check CHECK (only_row)
);

COMMENT ON TABLE public.lineage IS 'Where this database was when a daemon last started. Written by package migrations.';

COMMENT ON COLUMN public.lineage.place IS 'System identifier of the server, its timeline, the database. Another value: it was restored, copied, or failed over.';

CREATE TABLE public.lots (
    task_id bigint NOT NULL,
    lot integer NOT NULL,
    locations text[] DEFAULT '{}'::text[] NOT NULL,
    n bigint NOT NULL,
    bytes bigint DEFAULT 0 NOT NULL,
    events bigint DEFAULT 0 NOT NULL,
    cut bigint DEFAULT 0 NOT NULL,
    cut_bytes bigint DEFAULT 0 NOT NULL,
    cut_events bigint DEFAULT 0 NOT NULL,
    skip bigint DEFAULT 0 NOT NULL,
    pieces_left bigint DEFAULT 0 NOT NULL,
    shape_ids integer[] DEFAULT '{}'::integer[] NOT NULL,
    CONSTRAINT lots_check CHECK ((cut <= n)),
    CONSTRAINT lots_check1 CHECK ((((pieces_left > 0) = (cut < n)) OR (shape_ids = '{}'::integer[]))),
    CONSTRAINT lots_lot_check CHECK ((lot >= 0))
)
WITH (fillfactor='50');

COMMENT ON TABLE public.lots IS 'Parts of a task whose pieces are cut alike: all of its events, or the inputs in the same locations.';

COMMENT ON COLUMN public.lots.n IS 'Inputs of the lot; of a task without inputs its events.';

COMMENT ON COLUMN public.lots.bytes IS 'Sum of the sizes of its inputs.';

COMMENT ON COLUMN public.lots.events IS 'Events of all inputs, one for each input that does not say.';

COMMENT ON COLUMN public.lots.cut IS 'The cursor: so many inputs, or events, are in pieces that are jobs. cut_bytes and cut_events likewise.';

COMMENT ON COLUMN public.lots.skip IS 'Events of the next input that are in pieces already.';

COMMENT ON COLUMN public.lots.pieces_left IS 'Number of pieces that the rest makes: an estimate, at least 1 while there is a rest.';

COMMENT ON COLUMN public.lots.shape_ids IS 'Shapes of full pieces, the largest first; empty before the commit.';

CREATE TABLE public.need_pieces (
    task_id bigint NOT NULL,
    place integer NOT NULL,
    chunk bigint NOT NULL,
    bits bytea NOT NULL,
    CONSTRAINT need_pieces_bits_check CHECK ((length(bits) = 1024)),
    CONSTRAINT need_pieces_chunk_check CHECK ((chunk >= 0))
)
WITH (fillfactor='50');

COMMENT ON TABLE public.need_pieces IS 'Pieces of a needed task that have been noted: a bit for each index, 8192 in a row.';

CREATE TABLE public.node_usage (
    day timestamp with time zone NOT NULL,
    slot_ms bigint NOT NULL,
    unit_ms bigint NOT NULL,
    wasted_slot_ms bigint NOT NULL,
    cpu_ms bigint NOT NULL,
    finished bigint NOT NULL,
    failed bigint NOT NULL,
    lost bigint NOT NULL,
    cancelled bigint NOT NULL,
    returned bigint NOT NULL,
    queue integer NOT NULL,
    node text NOT NULL
)
WITH (fillfactor='60', autovacuum_vacuum_scale_factor='0.05', autovacuum_vacuum_cost_delay='0');

COMMENT ON TABLE public.node_usage IS 'hour_usage by the day of the end and node, all of it in that day. Made of history, up to rolled.';

COMMENT ON COLUMN public.node_usage.day IS 'Begin of the day, UTC.';

COMMENT ON COLUMN public.node_usage.slot_ms IS 'Cores times milliseconds.';

COMMENT ON COLUMN public.node_usage.unit_ms IS 'Thousandths of units times milliseconds.';

COMMENT ON COLUMN public.node_usage.wasted_slot_ms IS 'slot_ms of attempts that failed, were lost or returned.';

CREATE TABLE public.outbox (
    id bigint NOT NULL,
    made_at timestamp with time zone DEFAULT now() NOT NULL,
    entries jsonb NOT NULL,
    refused text
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='2000', autovacuum_vacuum_cost_delay='0');

COMMENT ON TABLE public.outbox IS 'Entries that the log shall have. The leader appends them and deletes the row in one transaction.';

COMMENT ON COLUMN public.outbox.refused IS 'Why the machine did not take them; NULL: it was not asked yet.';

ALTER TABLE public.outbox ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.outbox_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.paused_tasks (
    task bigint NOT NULL
);

COMMENT ON TABLE public.paused_tasks IS 'Tasks whose jobs get no slots, those that are ready and those that become so.';

CREATE TABLE public.payload_logs (
    at timestamp with time zone DEFAULT now() NOT NULL,
    job_id bigint NOT NULL,
    attempt integer NOT NULL,
    log text NOT NULL
)
PARTITION BY RANGE (at);
ALTER TABLE ONLY public.payload_logs ALTER COLUMN log SET STATISTICS 0;

COMMENT ON TABLE public.payload_logs IS 'End of stdout and stderr of an attempt that PanDA''s pilot ran, beside attempt_texts.log, which that pilot reported. The first row of an attempt counts.';

CREATE TABLE public.payloads (
    task_id bigint NOT NULL,
    command text[] NOT NULL,
    env jsonb NOT NULL,
    matrix jsonb NOT NULL,
    roles jsonb,
    retry jsonb,
    dir text DEFAULT ''::text NOT NULL,
    stdout text DEFAULT ''::text NOT NULL,
    stderr text DEFAULT ''::text NOT NULL,
    image text DEFAULT ''::text NOT NULL
);

COMMENT ON TABLE public.payloads IS 'What the jobs of a task run: the template into which the piece of a job is put.';

COMMENT ON COLUMN public.payloads.roles IS 'Commands of roles that have their own.';

COMMENT ON COLUMN public.payloads.retry IS 'Terms of the task for attempts that do not finish; NULL: none.';

COMMENT ON COLUMN public.payloads.dir IS 'Template of the folder that jobs run in; empty: one of their own.';

COMMENT ON COLUMN public.payloads.stdout IS 'Template of the file for the output of a job; empty: the pilot''s.';

COMMENT ON COLUMN public.payloads.stderr IS 'The same for errors.';

COMMENT ON COLUMN public.payloads.image IS 'Template of the image of the container that jobs run in; empty: in none.';

CREATE TABLE public.placings (
    share_id integer NOT NULL,
    aging jsonb,
    after bigint
);

COMMENT ON TABLE public.placings IS 'The aging by which the jobs of a share have their places. A share without a row has none, and never had.';

COMMENT ON COLUMN public.placings.aging IS 'NULL: it has none.';

COMMENT ON COLUMN public.placings.after IS 'Blocks up to this one have their places by it; NULL: all have.';

CREATE TABLE public.queues (
    id integer NOT NULL,
    name text NOT NULL,
    pool text DEFAULT 'default'::text NOT NULL,
    state text DEFAULT 'online'::text NOT NULL,
    slots integer,
    core_power_milli bigint DEFAULT 1000 NOT NULL,
    cores integer,
    memory_mb bigint,
    disk_mb bigint,
    walltime_s bigint,
    labels jsonb DEFAULT '{}'::jsonb NOT NULL,
    prefer text DEFAULT ''::text NOT NULL,
    "position" integer NOT NULL,
    removed_in bigint,
    CONSTRAINT queues_core_power_milli_check CHECK ((core_power_milli > 0)),
    CONSTRAINT queues_cores_check CHECK ((cores > 0)),
    CONSTRAINT queues_disk_mb_check CHECK ((disk_mb > 0)),
    CONSTRAINT queues_memory_mb_check CHECK ((memory_mb > 0)),
    CONSTRAINT queues_name_check CHECK ((name <> ''::text)),
    CONSTRAINT queues_prefer_check CHECK ((prefer = ANY (ARRAY[''::text, 'wide'::text]))),
    CONSTRAINT queues_slots_check CHECK ((slots >= 0)),
    CONSTRAINT queues_state_check CHECK ((state = ANY (ARRAY['online'::text, 'drain'::text, 'offline'::text, 'test'::text]))),
    CONSTRAINT queues_walltime_s_check CHECK ((walltime_s > 0))
);

COMMENT ON TABLE public.queues IS 'Places where pilots run. A queue keeps its id for ever, as a share does.';

COMMENT ON COLUMN public.queues.pool IS 'Resource group: the queues that are shared out together.';

COMMENT ON COLUMN public.queues.slots IS 'Cores that may run at once; NULL: no limit.';

COMMENT ON COLUMN public.queues.core_power_milli IS 'Thousandths of a unit that a core of the queue counts.';

COMMENT ON COLUMN public.queues.cores IS 'Most cores of one job; NULL: no limit. memory_mb, disk_mb and walltime_s likewise.';

COMMENT ON COLUMN public.queues.prefer IS 'wide: jobs with more cores come first within a leaf.';

COMMENT ON COLUMN public.queues.removed_in IS 'The version of the site that removed it; NULL: it is in force.';

ALTER TABLE public.queues ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.queues_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.reclaims (
    job_id bigint NOT NULL,
    attempt integer NOT NULL,
    nonce bigint NOT NULL,
    units bigint NOT NULL,
    ordered_at timestamp with time zone DEFAULT now() NOT NULL,
    closed_at timestamp with time zone,
    lost double precision,
    claimer_id integer NOT NULL,
    victim_id integer NOT NULL,
    plan_id integer NOT NULL,
    grace_s integer NOT NULL,
    pool text NOT NULL,
    outcome text,
    CONSTRAINT reclaims_check CHECK (((outcome IS NULL) OR (closed_at IS NOT NULL))),
    CONSTRAINT reclaims_grace_s_check CHECK ((grace_s >= 0)),
    CONSTRAINT reclaims_lost_check CHECK ((lost >= (0)::double precision)),
    CONSTRAINT reclaims_units_check CHECK ((units > 0))
);

COMMENT ON TABLE public.reclaims IS 'Orders to attempts to give their units back. Rows are closed when the lease is seen to be gone, and dropped after a week.';

COMMENT ON COLUMN public.reclaims.units IS 'Thousandths.';

COMMENT ON COLUMN public.reclaims.lost IS 'Units times seconds that a returned attempt had held.';

COMMENT ON COLUMN public.reclaims.claimer_id IS 'The share that asked for the units.';

COMMENT ON COLUMN public.reclaims.victim_id IS 'The share that gives them.';

COMMENT ON COLUMN public.reclaims.plan_id IS 'The share whose plan has the reclaim: the claimer or one above. The rate counts by it.';

COMMENT ON COLUMN public.reclaims.outcome IS 'Of the attempt; anything but revoked: it ended before the order took effect.';

CREATE TABLE public.released_pieces (
    task_id bigint NOT NULL,
    "position" bigint NOT NULL,
    pieces bigint[] NOT NULL,
    CONSTRAINT released_pieces_pieces_check CHECK (((cardinality(pieces) >= 1) AND (cardinality(pieces) <= 1000))),
    CONSTRAINT released_pieces_position_check CHECK (("position" >= 0))
);

COMMENT ON TABLE public.released_pieces IS 'Pieces that may become jobs, in the order in which they may; pieces[1] is the one at position.';

CREATE TABLE public.replay_checkpoints (
    seq bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    packed bytea NOT NULL
);
ALTER TABLE ONLY public.replay_checkpoints ALTER COLUMN packed SET STORAGE EXTERNAL;

COMMENT ON TABLE public.replay_checkpoints IS 'Machines as they were, from which the log is replayed: one an hour.';

COMMENT ON COLUMN public.replay_checkpoints.seq IS 'The batch as of which it is.';

COMMENT ON COLUMN public.replay_checkpoints.at IS 'When that batch was appended.';

COMMENT ON COLUMN public.replay_checkpoints.packed IS 'The state, compressed already; divvy alone reads it.';

CREATE TABLE public.resource_capacities (
    name text NOT NULL,
    key text DEFAULT ''::text NOT NULL,
    queue_id integer DEFAULT 0 NOT NULL,
    capacity bigint NOT NULL,
    set_at timestamp with time zone DEFAULT now() NOT NULL,
    set_by text NOT NULL,
    CONSTRAINT resource_capacities_capacity_check CHECK ((capacity >= 0)),
    CONSTRAINT resource_capacities_name_check CHECK ((name <> ''::text))
);

COMMENT ON TABLE public.resource_capacities IS 'Capacities that operators set while the site works: they precede those of the file until they are reset. key: of a family, empty = all keys; queue_id 0 = all queues.';

CREATE TABLE public.resource_external (
    name text NOT NULL,
    queue_id integer DEFAULT 0 NOT NULL,
    total bigint NOT NULL,
    used bigint NOT NULL,
    reported_at timestamp with time zone DEFAULT now() NOT NULL,
    settled bigint DEFAULT 0 NOT NULL,
    CONSTRAINT resource_external_name_check CHECK ((name <> ''::text)),
    CONSTRAINT resource_external_settled_check CHECK ((settled >= 0)),
    CONSTRAINT resource_external_total_check CHECK ((total >= 0)),
    CONSTRAINT resource_external_used_check CHECK ((used >= 0))
);

COMMENT ON TABLE public.resource_external IS 'The last report of the server of a resource: how many units there are, and how many are used, ours included. name: with its key, as in table:orders; queue_id 0: not per queue.';

COMMENT ON COLUMN public.resource_external.settled IS 'Units that had been held for longer than settle when it was reported: so many of used are ours.';

CREATE TABLE public.retries (
    job_id bigint NOT NULL,
    task_id bigint NOT NULL,
    due_at timestamp with time zone NOT NULL,
    attempt integer NOT NULL,
    shape_id integer NOT NULL,
    split boolean NOT NULL
)
WITH (fillfactor='90');

COMMENT ON TABLE public.retries IS 'Jobs that wait for a time; the last attempt of each is judged.';

COMMENT ON COLUMN public.retries.due_at IS 'When it is ready, or its piece is to be split.';

COMMENT ON COLUMN public.retries.attempt IS 'That ended.';

COMMENT ON COLUMN public.retries.shape_id IS 'That it has from then on.';

CREATE TABLE public.rolled (
    only_row boolean DEFAULT true NOT NULL,
    at timestamp with time zone NOT NULL,
    CONSTRAINT rolled_only_row_check CHECK (only_row)
)
WITH (fillfactor='10');

COMMENT ON TABLE public.rolled IS 'Up to when node_usage is made of history: one row, apart from folded, so that the fold does not wait for it.';

COMMENT ON COLUMN public.rolled.at IS 'Attempts that ended before are counted.';

CREATE TABLE public.sandboxes (
    name text NOT NULL,
    owner text NOT NULL,
    size bigint NOT NULL,
    checksum bigint NOT NULL,
    content bytea NOT NULL,
    stored_at timestamp with time zone DEFAULT now() NOT NULL,
    used_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT sandboxes_check CHECK ((size = length(content))),
    CONSTRAINT sandboxes_name_check CHECK (((length(name) >= 1) AND (length(name) <= 200)))
);
ALTER TABLE ONLY public.sandboxes ALTER COLUMN content SET STORAGE EXTERNAL;

COMMENT ON TABLE public.sandboxes IS 'Files that clients such as prun upload for their jobs to fetch. Bounded in size and number; those that nobody has used for a month are removed.';

COMMENT ON COLUMN public.sandboxes.name IS 'The name that clients give it.';

COMMENT ON COLUMN public.sandboxes.owner IS 'Name of the credential that uploaded it and may replace it; empty where nobody has one.';

COMMENT ON COLUMN public.sandboxes.size IS 'Bytes of content.';

COMMENT ON COLUMN public.sandboxes.checksum IS 'CRC-32 that gzip writes at the end of a file: by it and the size clients find what they have uploaded already.';

COMMENT ON COLUMN public.sandboxes.content IS 'The file.';

COMMENT ON COLUMN public.sandboxes.stored_at IS 'When it was uploaded.';

COMMENT ON COLUMN public.sandboxes.used_at IS 'When it was last uploaded, found again or fetched, to a day.';

CREATE TABLE public.settled (
    only_row boolean DEFAULT true NOT NULL,
    seq bigint NOT NULL,
    CONSTRAINT settled_only_row_check CHECK (only_row)
)
WITH (fillfactor='10');

COMMENT ON TABLE public.settled IS 'Up to which batch of the log states of tasks follow from what the fold counted: one row.';

ALTER TABLE public.shapes ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.shapes_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.share_counts (
    share integer NOT NULL,
    shape integer NOT NULL,
    queue integer NOT NULL,
    ready bigint NOT NULL,
    held bigint NOT NULL,
    held_units bigint NOT NULL
)
WITH (fillfactor='60', autovacuum_vacuum_scale_factor='0.05', autovacuum_vacuum_cost_delay='0');

COMMENT ON TABLE public.share_counts IS 'Ready and held jobs by share, shape and queue, as of folded.';

COMMENT ON COLUMN public.share_counts.queue IS '0: of ready jobs.';

COMMENT ON COLUMN public.share_counts.held_units IS 'Thousandths of a unit.';

CREATE TABLE public.share_samples (
    at timestamp with time zone NOT NULL,
    pool text NOT NULL,
    share_id integer NOT NULL,
    target double precision NOT NULL,
    held bigint NOT NULL,
    ready bigint NOT NULL,
    deserved real,
    lent real,
    borrowed real
)
PARTITION BY RANGE (at);

COMMENT ON TABLE public.share_samples IS 'The standing of each share over time: for plots, and for what was promised against what was given.';

COMMENT ON COLUMN public.share_samples.target IS 'In units; held is in thousandths of a unit.';

COMMENT ON COLUMN public.share_samples.deserved IS 'Units that it would have got if every share had wanted everything.';

COMMENT ON COLUMN public.share_samples.lent IS 'Units that it owned and siblings used; NULL: none.';

COMMENT ON COLUMN public.share_samples.borrowed IS 'Units that siblings owned and it used; NULL: none.';

CREATE TABLE public.shares (
    id integer NOT NULL,
    parent_id integer,
    name text NOT NULL,
    path text NOT NULL,
    "position" integer NOT NULL,
    leaf boolean NOT NULL,
    weight double precision NOT NULL,
    tier integer DEFAULT 1 NOT NULL,
    plan jsonb DEFAULT '{}'::jsonb NOT NULL,
    removed_in bigint,
    CONSTRAINT shares_name_check CHECK ((name <> ''::text)),
    CONSTRAINT shares_weight_check CHECK ((weight >= (0)::double precision))
);

COMMENT ON TABLE public.shares IS 'The share tree. A share keeps its id for ever, because history refers to it; a share that was removed keeps its row.';

COMMENT ON COLUMN public.shares.path IS 'Names from the top down, joined by slashes: Production/MC. Unique among the shares in force.';

COMMENT ON COLUMN public.shares."position" IS 'Order among its siblings, as in the site file.';

COMMENT ON COLUMN public.shares.leaf IS 'Leaves hold jobs; inner nodes only divide.';

COMMENT ON COLUMN public.shares.tier IS 'Lower tiers are filled first.';

COMMENT ON COLUMN public.shares.plan IS 'The rest of what the site file says of the share.';

COMMENT ON COLUMN public.shares.removed_in IS 'The version of the site that removed it; NULL: it is in force.';

ALTER TABLE public.shares ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.shares_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.site_later (
    id bigint NOT NULL,
    effective_at timestamp with time zone NOT NULL,
    stored_at timestamp with time zone DEFAULT now() NOT NULL,
    stored_by text NOT NULL,
    note text DEFAULT ''::text NOT NULL,
    file text NOT NULL,
    source text NOT NULL,
    moves jsonb DEFAULT '{}'::jsonb NOT NULL,
    base_version bigint NOT NULL,
    state text DEFAULT 'waiting'::text NOT NULL,
    version bigint,
    error text DEFAULT ''::text NOT NULL,
    ended_at timestamp with time zone,
    ended_by text DEFAULT ''::text NOT NULL,
    CONSTRAINT site_later_check CHECK (((ended_at IS NULL) = (state = 'waiting'::text))),
    CONSTRAINT site_later_check1 CHECK (((version IS NOT NULL) = (state = 'applied'::text))),
    CONSTRAINT site_later_state_check CHECK ((state = ANY (ARRAY['waiting'::text, 'applied'::text, 'failed'::text, 'cancelled'::text])))
);

COMMENT ON TABLE public.site_later IS 'Site files with the time from which they are to be in force. They are applied in the order of effective_at, then id.';

COMMENT ON COLUMN public.site_later.moves IS 'Live work of a share that goes: its path to a leaf of the new tree.';

COMMENT ON COLUMN public.site_later.base_version IS 'The version in force when the file was stored; 0 = none.';

COMMENT ON COLUMN public.site_later.version IS 'The version that it became, or that had the same file already.';

COMMENT ON COLUMN public.site_later.error IS 'Why a failed one could not be applied when it was due. It is not tried again.';

ALTER TABLE public.site_later ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.site_later_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.site_resources (
    version bigint NOT NULL,
    "position" integer NOT NULL,
    name text NOT NULL,
    capacity bigint NOT NULL,
    per_queue boolean NOT NULL,
    keyed boolean NOT NULL,
    split_by text NOT NULL,
    external_expires interval NOT NULL,
    CONSTRAINT site_resources_capacity_check CHECK ((capacity >= 0)),
    CONSTRAINT site_resources_name_check CHECK ((name <> ''::text)),
    CONSTRAINT site_resources_split_by_check CHECK ((split_by = ANY (ARRAY['user'::text, 'share'::text, 'label'::text])))
);

COMMENT ON TABLE public.site_resources IS 'The resources of every version of the site; those of the largest version are in force. How they are split is in the source of the version.';

CREATE TABLE public.site_versions (
    version bigint NOT NULL,
    applied_at timestamp with time zone DEFAULT now() NOT NULL,
    applied_by text NOT NULL,
    note text DEFAULT ''::text NOT NULL,
    rollback_of bigint,
    source text NOT NULL,
    share_ids jsonb NOT NULL,
    queue_ids jsonb NOT NULL,
    CONSTRAINT site_versions_version_check CHECK ((version > 0))
);

COMMENT ON TABLE public.site_versions IS 'Every site file that was ever applied, as it was written. The largest version is in force.';

COMMENT ON COLUMN public.site_versions.rollback_of IS 'The version whose file this one brought back; NULL: it is no rollback.';

COMMENT ON COLUMN public.site_versions.source IS 'The text of the site file.';

COMMENT ON COLUMN public.site_versions.share_ids IS 'Path to id of every share of this version, so that any version can be rebuilt whatever was renamed since.';

COMMENT ON COLUMN public.site_versions.queue_ids IS 'Name to id of every queue of this version.';

CREATE TABLE public.splittings (
    job_id bigint NOT NULL,
    task_id bigint NOT NULL,
    shape_id integer NOT NULL,
    attempt integer NOT NULL
);

COMMENT ON TABLE public.splittings IS 'Jobs that wait until their piece has become two. The leader adds them in the transaction that appends the end which said so.';

COMMENT ON COLUMN public.splittings.shape_id IS 'That it has from now on.';

COMMENT ON COLUMN public.splittings.attempt IS 'The next one.';

CREATE TABLE public.steps (
    seq bigint NOT NULL,
    before bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    tasks bigint[] NOT NULL
);

COMMENT ON TABLE public.steps IS 'The steps of the fold that changed counts of tasks, and which tasks. Kept for some hours.';

COMMENT ON COLUMN public.steps.seq IS 'The last batch of the step; before: that of the step before it.';

COMMENT ON COLUMN public.steps.at IS 'Time of the last batch.';

CREATE TABLE public.tag_rules (
    version bigint NOT NULL,
    "position" integer NOT NULL,
    match jsonb NOT NULL,
    share text NOT NULL
);

COMMENT ON TABLE public.tag_rules IS 'The ordered rules of every version of the site that send tasks to shares. The first rule that matches wins.';

CREATE TABLE public.target_slots (
    queue text NOT NULL,
    share_id integer NOT NULL,
    class text NOT NULL,
    floor boolean NOT NULL,
    slots integer NOT NULL,
    expires_at timestamp with time zone,
    set_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT target_slots_slots_check CHECK ((slots >= 0))
);

COMMENT ON TABLE public.target_slots IS 'How many cores may be held at a queue, or come first there, as those say who feed it with pilots.';

COMMENT ON COLUMN public.target_slots.queue IS 'Its name: the site may get it later.';

COMMENT ON COLUMN public.target_slots.share_id IS 'With all below it; 0: all.';

COMMENT ON COLUMN public.target_slots.class IS 'Of jobs; empty: all.';

CREATE TABLE public.task_deadlines (
    task_id bigint NOT NULL,
    deadline timestamp with time zone NOT NULL,
    boost integer DEFAULT 0 NOT NULL,
    boosted integer DEFAULT 0 NOT NULL,
    late_risk text DEFAULT 'unknown'::text NOT NULL,
    over boolean DEFAULT false NOT NULL,
    seen_at timestamp with time zone,
    n_ended bigint DEFAULT 0 NOT NULL,
    per_s double precision,
    eta timestamp with time zone,
    CONSTRAINT task_deadlines_boost_check CHECK ((boost >= 0)),
    CONSTRAINT task_deadlines_check CHECK (((boosted >= 0) AND (boosted <= boost))),
    CONSTRAINT task_deadlines_late_risk_check CHECK ((late_risk = ANY (ARRAY['unknown'::text, 'low'::text, 'high'::text, 'late'::text, 'met'::text, 'missed'::text])))
)
WITH (fillfactor='50');

COMMENT ON TABLE public.task_deadlines IS 'Tasks that have a deadline. Forecast looks at those that are not over, every half minute.';

COMMENT ON COLUMN public.task_deadlines.boost IS 'Priority that the task gains once it is likely to be late.';

COMMENT ON COLUMN public.task_deadlines.boosted IS 'Priority that it has gained so: all of boost, once, or nothing.';

COMMENT ON COLUMN public.task_deadlines.over IS 'The task is over: it is not looked at any more.';

COMMENT ON COLUMN public.task_deadlines.per_s IS 'Jobs of the task that end a second, as of seen_at: a mean that forgets within an hour.';

COMMENT ON COLUMN public.task_deadlines.eta IS 'When the task will be over at that rate.';

CREATE TABLE public.task_needs (
    task_id bigint NOT NULL,
    place integer NOT NULL,
    needs_id bigint NOT NULL,
    condition text NOT NULL,
    per_input boolean NOT NULL,
    outputs text,
    state text DEFAULT 'open'::text NOT NULL,
    seen bigint DEFAULT 0 NOT NULL,
    low bigint DEFAULT 0 NOT NULL,
    after bigint DEFAULT 0 NOT NULL,
    low_next bigint,
    was_over boolean DEFAULT false NOT NULL,
    n_taken bigint DEFAULT 0 NOT NULL,
    CONSTRAINT task_needs_check CHECK ((needs_id < task_id)),
    CONSTRAINT task_needs_condition_check CHECK ((condition = ANY (ARRAY['done'::text, 'finished'::text, 'any'::text]))),
    CONSTRAINT task_needs_place_check CHECK ((place >= 0)),
    CONSTRAINT task_needs_state_check CHECK ((state = ANY (ARRAY['open'::text, 'met'::text, 'broken'::text, 'left'::text])))
)
WITH (fillfactor='50');

COMMENT ON TABLE public.task_needs IS 'Tasks that a task needs, and how much of what they made has been noted. Written under the row lock of the task that needs.';

COMMENT ON COLUMN public.task_needs.place IS 'Order among the needs of the task.';

COMMENT ON COLUMN public.task_needs.needs_id IS 'The needed task. It is older, so that there are no circles.';

COMMENT ON COLUMN public.task_needs.per_input IS 'Each piece waits for those of the needed task that it follows, not for all of it.';

COMMENT ON COLUMN public.task_needs.outputs IS 'Glob: outputs of its jobs with such names become inputs. NULL: none do.';

COMMENT ON COLUMN public.task_needs.state IS 'met, broken: the needed task is over, as demanded or not; left: the task that needs was over first.';

COMMENT ON COLUMN public.task_needs.seen IS 'How many jobs of the needed task had ended when the last round began.';

COMMENT ON COLUMN public.task_needs.low IS 'All jobs up to this id have ended and are noted: a round begins behind it.';

COMMENT ON COLUMN public.task_needs.after IS 'How far the round came. low_next becomes low after it (NULL: no round is under way); was_over: the needed task was over when the round began.';

CREATE TABLE public.task_usage (
    day timestamp with time zone NOT NULL,
    task bigint NOT NULL,
    slot_ms bigint NOT NULL,
    unit_ms bigint NOT NULL,
    wasted_slot_ms bigint NOT NULL,
    cpu_ms bigint NOT NULL,
    finished bigint NOT NULL,
    failed bigint NOT NULL,
    lost bigint NOT NULL,
    cancelled bigint NOT NULL,
    returned bigint NOT NULL,
    share integer NOT NULL
)
WITH (fillfactor='60', autovacuum_vacuum_scale_factor='0.05', autovacuum_vacuum_cost_delay='0');

COMMENT ON TABLE public.task_usage IS 'hour_usage by the day and task.';

COMMENT ON COLUMN public.task_usage.day IS 'Begin of the day, UTC.';

COMMENT ON COLUMN public.task_usage.slot_ms IS 'Cores times milliseconds.';

COMMENT ON COLUMN public.task_usage.unit_ms IS 'Thousandths of units times milliseconds.';

COMMENT ON COLUMN public.task_usage.wasted_slot_ms IS 'slot_ms of attempts that failed, were lost or returned.';

ALTER TABLE public.tasks ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.tasks_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.tokens (
    id bigint NOT NULL,
    name text NOT NULL,
    prefix text NOT NULL,
    hash bytea NOT NULL,
    role text NOT NULL,
    user_name text,
    queues text[] DEFAULT '{}'::text[] NOT NULL,
    share text,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    created_by text NOT NULL,
    expires_at timestamp with time zone,
    revoked_at timestamp with time zone,
    revoked_by text,
    used_at timestamp with time zone,
    CONSTRAINT tokens_check CHECK (((user_name IS NOT NULL) = (role = 'submitter'::text))),
    CONSTRAINT tokens_check1 CHECK (((queues = '{}'::text[]) OR (role = 'pilot'::text))),
    CONSTRAINT tokens_check2 CHECK (((share IS NOT NULL) = (role = 'share-owner'::text))),
    CONSTRAINT tokens_check3 CHECK (((revoked_by IS NULL) = (revoked_at IS NULL))),
    CONSTRAINT tokens_hash_check CHECK ((length(hash) = 32)),
    CONSTRAINT tokens_name_check CHECK (((length(name) >= 1) AND (length(name) <= 100))),
    CONSTRAINT tokens_role_check CHECK ((role = ANY (ARRAY['pilot'::text, 'submitter'::text, 'share-owner'::text, 'operator'::text, 'reader'::text, 'admin'::text])))
);

COMMENT ON TABLE public.tokens IS 'Tokens of the API. Rows stay, so that the audit can name them.';

COMMENT ON COLUMN public.tokens.prefix IS 'The begin of the text of the token, by which a token that was found somewhere is recognised.';

COMMENT ON COLUMN public.tokens.hash IS 'SHA-256 of the token, which is 256 random bits. The token itself is kept nowhere.';

COMMENT ON COLUMN public.tokens.queues IS 'Of a pilot: where it may pull; empty: anywhere.';

COMMENT ON COLUMN public.tokens.share IS 'Of a share owner: path of the node below which it may change weights.';

COMMENT ON COLUMN public.tokens.used_at IS 'Last use, written at most once a minute.';

ALTER TABLE public.tokens ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.tokens_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.user_wait_hours (
    hour timestamp with time zone NOT NULL,
    user_name text NOT NULL,
    bucket integer NOT NULL,
    jobs bigint NOT NULL,
    wait_seconds numeric NOT NULL
)
WITH (fillfactor='70', autovacuum_vacuum_scale_factor='0.02');

COMMENT ON TABLE public.user_wait_hours IS 'wait_hours by the user of the task.';

CREATE TABLE public.wait_hours (
    hour timestamp with time zone NOT NULL,
    share_id integer NOT NULL,
    queue_id integer NOT NULL,
    bucket integer NOT NULL,
    jobs bigint NOT NULL,
    wait_seconds numeric NOT NULL
)
WITH (fillfactor='70', autovacuum_vacuum_scale_factor='0.02');

COMMENT ON TABLE public.wait_hours IS 'How long jobs waited from the submission of their task to their first claim, by the hour of that claim; known when the first attempt is over.';

COMMENT ON COLUMN public.wait_hours.bucket IS 'Number of divvy_wait_bounds that are not above the wait.';

CREATE TABLE public.waited (
    only_row boolean DEFAULT true NOT NULL,
    at timestamp with time zone NOT NULL,
    CONSTRAINT waited_only_row_check CHECK (only_row)
)
WITH (fillfactor='10');

COMMENT ON TABLE public.waited IS 'Up to when waits are made of history: one row.';

COMMENT ON COLUMN public.waited.at IS 'Attempts that ended before are counted.';

CREATE TABLE public.webhook_messages (
    id bigint NOT NULL,
    webhook text NOT NULL,
    event text NOT NULL,
    subject text NOT NULL,
    body text NOT NULL,
    made_at timestamp with time zone DEFAULT now() NOT NULL,
    tries integer DEFAULT 0 NOT NULL,
    due_at timestamp with time zone DEFAULT now() NOT NULL,
    over boolean DEFAULT false NOT NULL,
    CONSTRAINT webhook_messages_tries_check CHECK ((tries >= 0))
);

COMMENT ON TABLE public.webhook_messages IS 'What a receiver is to be told: a row goes when it was, or was given up.';

COMMENT ON COLUMN public.webhook_messages.id IS 'The same in each attempt: the header webhook-id.';

COMMENT ON COLUMN public.webhook_messages.webhook IS 'The receiver.';

COMMENT ON COLUMN public.webhook_messages.event IS 'Such as task.failed.';

COMMENT ON COLUMN public.webhook_messages.subject IS 'What it is about: the id of a task, the path of a share with its pool, the name of a queue.';

COMMENT ON COLUMN public.webhook_messages.body IS 'As it is sent.';

COMMENT ON COLUMN public.webhook_messages.made_at IS 'When it happened.';

COMMENT ON COLUMN public.webhook_messages.tries IS 'Attempts that have begun.';

COMMENT ON COLUMN public.webhook_messages.due_at IS 'The next attempt begins then; an attempt sets it first, so that a daemon that dies loses nothing.';

COMMENT ON COLUMN public.webhook_messages.over IS 'Told or given up, and kept while the share starves, or the queue is broken, so that it is told once.';

ALTER TABLE public.webhook_messages ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.webhook_messages_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.webhook_tasks (
    task bigint NOT NULL,
    state text NOT NULL,
    at timestamp with time zone DEFAULT now() NOT NULL
);

COMMENT ON TABLE public.webhook_tasks IS 'Tasks that have ended, until messages are made of them.';

COMMENT ON COLUMN public.webhook_tasks.task IS 'The task.';

COMMENT ON COLUMN public.webhook_tasks.state IS 'How it ended.';

COMMENT ON COLUMN public.webhook_tasks.at IS 'When that was noted.';

CREATE TABLE public.webhooks (
    name text NOT NULL,
    CONSTRAINT webhooks_name_check CHECK ((name <> ''::text))
);

COMMENT ON TABLE public.webhooks IS 'Receivers of the site in force. What happens while there is none is not noted.';

COMMENT ON COLUMN public.webhooks.name IS 'Its name in the site file.';

CREATE VIEW report.about AS
 SELECT 5 AS version,
    f.seq AS counted_up_to,
    f.at AS counted_at,
    true AS complete,
    ( SELECT (max(r.hour) + '01:00:00'::interval)
           FROM public.fairness_hours r) AS rated_up_to
   FROM public.folded f;

COMMENT ON VIEW report.about IS 'One row about this schema itself.';

COMMENT ON COLUMN report.about.version IS 'Rises when views or columns change.';

COMMENT ON COLUMN report.about.counted_up_to IS 'Number of the last batch of the log that the views show; see report.freshness.';

COMMENT ON COLUMN report.about.counted_at IS 'When that was appended.';

COMMENT ON COLUMN report.about.complete IS 'Always: the usage views have all attempts up to there.';

COMMENT ON COLUMN report.about.rated_up_to IS 'Hours before this one are in share_fairness and fairness; NULL: none is.';

CREATE VIEW report.attempts AS
 SELECT a.job AS job_id,
    a.attempt,
    a.task AS task_id,
    t.user_name,
    s.path AS share,
    q.name AS queue,
    h.cores,
    (((a.units)::numeric / 1000.0))::numeric(20,3) AS units,
    ( SELECT b.priority
           FROM public.job_blocks b
          WHERE (b.low <= a.job)
          ORDER BY b.low DESC
         LIMIT 1) AS priority,
    a.pilot,
    a.node,
        CASE a.outcome
            WHEN 'f'::"char" THEN 'finished'::text
            WHEN 'x'::"char" THEN 'failed'::text
            WHEN 'l'::"char" THEN 'lost'::text
            WHEN 'c'::"char" THEN 'cancelled'::text
            ELSE 'revoked'::text
        END AS outcome,
        CASE
            WHEN ((a.outcome = 'f'::"char") OR (a.exit_code <> 0)) THEN a.exit_code
            ELSE NULL::integer
        END AS exit_code,
    COALESCE(( SELECT x.reason
           FROM public.attempt_texts x
          WHERE ((x.job_id = a.job) AND (x.attempt = a.attempt) AND (x.ended_on = ((a.ended_at AT TIME ZONE 'UTC'::text))::date))), ''::text) AS message,
    a.granted_at AS claimed_at,
        CASE
            WHEN (a.start_delay_ms >= 0) THEN (a.granted_at + ((a.start_delay_ms)::double precision * '00:00:00.001'::interval))
            ELSE NULL::timestamp with time zone
        END AS started_at,
    a.ended_at,
    (((h.cores)::numeric * (floor((EXTRACT(epoch FROM GREATEST(a.ended_at, a.granted_at)) * (1000)::numeric)) - floor((EXTRACT(epoch FROM a.granted_at) * (1000)::numeric)))) * 0.001) AS slot_seconds,
    (((a.units)::numeric * (floor((EXTRACT(epoch FROM GREATEST(a.ended_at, a.granted_at)) * (1000)::numeric)) - floor((EXTRACT(epoch FROM a.granted_at) * (1000)::numeric)))) * 0.000001) AS unit_seconds,
    ((a.cpu_ms)::double precision * (0.001)::double precision) AS cpu_seconds,
    (a.memory_mb)::bigint AS memory_mb,
    ( SELECT x.outputs
           FROM public.attempt_texts x
          WHERE ((x.job_id = a.job) AND (x.attempt = a.attempt) AND (x.ended_on = ((a.ended_at AT TIME ZONE 'UTC'::text))::date))) AS outputs,
    ( SELECT x.report
           FROM public.attempt_texts x
          WHERE ((x.job_id = a.job) AND (x.attempt = a.attempt) AND (x.ended_on = ((a.ended_at AT TIME ZONE 'UTC'::text))::date))) AS report
   FROM ((((public.history a
     LEFT JOIN public.shapes h ON ((h.id = a.shape)))
     LEFT JOIN public.shares s ON ((s.id = a.share)))
     LEFT JOIN public.queues q ON ((q.id = a.queue)))
     LEFT JOIN public.tasks t ON ((t.id = a.task)));

COMMENT ON VIEW report.attempts IS 'Every attempt that ended: what each lease cost and what came out. Restrict it by ended_at: days are stored apart.';

COMMENT ON COLUMN report.attempts.job_id IS 'Job that was tried.';

COMMENT ON COLUMN report.attempts.attempt IS 'Number of the attempt, from 1.';

COMMENT ON COLUMN report.attempts.task_id IS 'Task of the job.';

COMMENT ON COLUMN report.attempts.user_name IS 'Whose task it is.';

COMMENT ON COLUMN report.attempts.share IS 'Path of the share that was charged.';

COMMENT ON COLUMN report.attempts.queue IS 'Queue where it ran.';

COMMENT ON COLUMN report.attempts.cores IS 'Cores that it held.';

COMMENT ON COLUMN report.attempts.units IS 'Units that it held: cores times the core power of the queue.';

COMMENT ON COLUMN report.attempts.priority IS 'Priority of the job.';

COMMENT ON COLUMN report.attempts.pilot IS 'Pilot that held the lease.';

COMMENT ON COLUMN report.attempts.node IS 'Host of the pilot; empty when it did not say.';

COMMENT ON COLUMN report.attempts.outcome IS 'finished, failed, lost (the lease ran out), cancelled or revoked (reclaimed, or given back by its pilot: not counted as an attempt).';

COMMENT ON COLUMN report.attempts.exit_code IS 'Exit code of the process, 128 + signal when a signal ended it; NULL when unknown, and of a failed one that said 0.';

COMMENT ON COLUMN report.attempts.message IS 'What the pilot said about the end.';

COMMENT ON COLUMN report.attempts.claimed_at IS 'When the lease began.';

COMMENT ON COLUMN report.attempts.started_at IS 'When its pilot first said, in a renewal, that it runs: later than the payload began by up to the time between two renewals. NULL: it never said so, as of attempts that ended before their first renewal.';

COMMENT ON COLUMN report.attempts.ended_at IS 'When the lease ended.';

COMMENT ON COLUMN report.attempts.slot_seconds IS 'Cores times the seconds from claim to end.';

COMMENT ON COLUMN report.attempts.unit_seconds IS 'Units times the seconds from claim to end: what the share was charged.';

COMMENT ON COLUMN report.attempts.cpu_seconds IS 'CPU time used, as the pilot reported.';

COMMENT ON COLUMN report.attempts.memory_mb IS 'Peak memory in MB, as the pilot reported.';

COMMENT ON COLUMN report.attempts.outputs IS 'What the job made, by name, as the pilot reported.';

COMMENT ON COLUMN report.attempts.report IS 'What else its pilot reported, by name: of PanDA pilots jobMetrics, pilotErrorCode and the like. NULL: nothing.';

CREATE VIEW report.audit AS
 SELECT a.id,
    a.at,
    a.who,
    a.role,
    a.subject,
    a.what,
    a.object,
    a.before,
    a.after
   FROM public.audit a;

COMMENT ON VIEW report.audit IS 'A change that somebody made.';

COMMENT ON COLUMN report.audit.id IS 'Number; they rise, with gaps.';

COMMENT ON COLUMN report.audit.at IS 'When its transaction began.';

COMMENT ON COLUMN report.audit.who IS 'Name of the token that made it; token file; anybody, where none is asked for; a user of PanDA''s API.';

COMMENT ON COLUMN report.audit.role IS 'Role of the token.';

COMMENT ON COLUMN report.audit.subject IS 'What the token is bound to: a user, queues, a share.';

COMMENT ON COLUMN report.audit.what IS 'The kind of thing, a dot, the verb: task.kill.';

COMMENT ON COLUMN report.audit.object IS 'Id or name of the thing.';

COMMENT ON COLUMN report.audit.before IS 'How it was; empty: there was none.';

COMMENT ON COLUMN report.audit.after IS 'How it is since.';

CREATE VIEW report.charges AS
 SELECT a.job AS job_id,
    a.attempt,
    a.task AS task_id,
    t.user_name,
    s.path AS share,
    q.name AS queue,
    a.hour,
    a.cores,
    (((a.units)::numeric / 1000.0))::numeric(20,3) AS units,
    (((a.cores * a.ms))::numeric * 0.001) AS slot_seconds,
    (((a.units * a.ms))::numeric * 0.000001) AS unit_seconds,
        CASE a.outcome
            WHEN 'f'::"char" THEN 'finished'::text
            WHEN 'x'::"char" THEN 'failed'::text
            WHEN 'l'::"char" THEN 'lost'::text
            WHEN 'c'::"char" THEN 'cancelled'::text
            ELSE 'revoked'::text
        END AS outcome,
    a.ends,
    a.granted_at AS claimed_at,
    a.ended_at
   FROM (((public.attempt_pieces a
     LEFT JOIN public.shares s ON ((s.id = a.share)))
     LEFT JOIN public.queues q ON ((q.id = a.queue)))
     LEFT JOIN public.tasks t ON ((t.id = a.task)));

COMMENT ON VIEW report.charges IS 'How every ended attempt is split: a row an attempt and hour. What the usage views are the sums of. Restrict it by ended_at: days are stored apart.';

COMMENT ON COLUMN report.charges.job_id IS 'Job that was tried.';

COMMENT ON COLUMN report.charges.attempt IS 'Number of the attempt, from 1.';

COMMENT ON COLUMN report.charges.task_id IS 'Task of the job.';

COMMENT ON COLUMN report.charges.user_name IS 'Whose task it is.';

COMMENT ON COLUMN report.charges.share IS 'Path of the share that this piece was charged to.';

COMMENT ON COLUMN report.charges.queue IS 'Queue where it ran.';

COMMENT ON COLUMN report.charges.hour IS 'Begin of the hour that the piece lies in.';

COMMENT ON COLUMN report.charges.cores IS 'Cores that it held.';

COMMENT ON COLUMN report.charges.units IS 'Units that it held.';

COMMENT ON COLUMN report.charges.slot_seconds IS 'Cores times seconds of this piece.';

COMMENT ON COLUMN report.charges.unit_seconds IS 'Units times seconds of this piece.';

COMMENT ON COLUMN report.charges.outcome IS 'finished, failed, lost, cancelled or revoked.';

COMMENT ON COLUMN report.charges.ends IS 'Whether the attempt ended in this piece: it counts once.';

COMMENT ON COLUMN report.charges.claimed_at IS 'When the lease began.';

COMMENT ON COLUMN report.charges.ended_at IS 'When the lease ended.';

CREATE VIEW report.deadlines AS
 SELECT d.task_id,
    t.name,
    t.user_name,
    s.path AS share,
    t.state,
    d.deadline,
    d.eta,
    d.late_risk,
    (d.per_s * (3600)::double precision) AS jobs_per_hour,
    GREATEST((((t.n_jobs - t.n_finished) - t.n_failed) - t.n_cancelled), (0)::bigint) AS jobs_left,
    d.boost,
    d.boosted,
    d.seen_at
   FROM ((public.task_deadlines d
     JOIN public.counted_tasks t ON ((t.id = d.task_id)))
     LEFT JOIN public.shares s ON ((s.id = t.share_id)));

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

CREATE VIEW report.decisions AS
 SELECT b.at,
    b.by AS daemon_id,
    b.seq,
    g.job AS job_id,
    q.name AS queue,
    s.path AS share,
    (((COALESCE(g.units, b.granted_units[1]))::numeric / 1000.0))::numeric(20,3) AS units,
    COALESCE(g.attempt, b.granted_attempts[1]) AS attempt
   FROM (((public.batches b
     CROSS JOIN LATERAL UNNEST(b.granted_jobs, b.granted_attempts, b.granted_shares, b.granted_queues, b.granted_units) g(job, attempt, share, queue, units))
     LEFT JOIN public.queues q ON ((q.id = COALESCE(g.queue, b.granted_queues[1]))))
     LEFT JOIN public.shares s ON ((s.id = COALESCE(g.share, b.granted_shares[1]))));

COMMENT ON VIEW report.decisions IS 'Which job was given to which queue, for as long as the log is kept: one row a grant. Restrict it by seq >= report.ledger_seq(''…'').';

COMMENT ON COLUMN report.decisions.at IS 'When it was decided.';

COMMENT ON COLUMN report.decisions.daemon_id IS 'Daemon that decided.';

COMMENT ON COLUMN report.decisions.seq IS 'Number of the batch: what was decided together has the same.';

COMMENT ON COLUMN report.decisions.job_id IS 'Job that was given.';

COMMENT ON COLUMN report.decisions.queue IS 'Queue of the slot that it was given to.';

COMMENT ON COLUMN report.decisions.share IS 'Path of the share that won, and pays.';

COMMENT ON COLUMN report.decisions.units IS 'Units that the job is charged.';

COMMENT ON COLUMN report.decisions.attempt IS 'Attempt of the job.';

CREATE VIEW report.fairness AS
 SELECT leaves.hour,
    leaves.pool,
    count(*) AS shares,
    (((sum(leaves.x) * sum(leaves.x)) / NULLIF(((count(*))::double precision * sum((leaves.x * leaves.x))), (0)::double precision)))::numeric(6,4) AS jain,
    max(abs((leaves.held - leaves.target))) AS largest_deviation_units,
    (array_agg(leaves.share ORDER BY (abs((leaves.held - leaves.target))) DESC, leaves.share))[1] AS furthest_share,
    sum(leaves.missed_seconds) AS missed_unit_seconds,
    count(*) FILTER (WHERE (leaves.starved_seconds > (0)::double precision)) AS starved_shares
   FROM ( SELECT f.hour,
            f.pool,
            s.path AS share,
            (f.held_seconds / f.target_seconds) AS x,
            (f.held_seconds / f.seconds) AS held,
            (f.target_seconds / f.seconds) AS target,
            f.missed_seconds,
            f.starved_seconds
           FROM (public.fairness_hours f
             JOIN public.shares s ON ((s.id = f.share_id)))
          WHERE (s.leaf AND (f.target_seconds > (0)::double precision) AND (f.busy_seconds > (0)::double precision))) leaves
  GROUP BY leaves.hour, leaves.pool;

COMMENT ON VIEW report.fairness IS 'How fair an hour was, of each pool: over the leaves that had a target and jobs.';

COMMENT ON COLUMN report.fairness.hour IS 'Begin of the hour.';

COMMENT ON COLUMN report.fairness.pool IS 'Resource group.';

COMMENT ON COLUMN report.fairness.shares IS 'Leaves that had a target and jobs.';

COMMENT ON COLUMN report.fairness.jain IS 'Jain''s index of held / target: 1 = all had the same part of what they were promised, 1/shares = one had all.';

COMMENT ON COLUMN report.fairness.largest_deviation_units IS 'The largest distance of held from target, in the mean of the hour.';

COMMENT ON COLUMN report.fairness.furthest_share IS 'Path of the share that had it.';

COMMENT ON COLUMN report.fairness.missed_unit_seconds IS 'What leaves held too little while they had ready jobs, in all.';

COMMENT ON COLUMN report.fairness.starved_shares IS 'Leaves that had ready jobs and a target of a unit or more, and held nothing for some time while others did.';

CREATE VIEW report.freshness AS
 SELECT f.seq AS folded_seq,
    f.at AS folded_at,
    GREATEST(n.seq, f.seq) AS newest_seq,
    GREATEST(n.at, f.at) AS newest_at,
    (GREATEST(EXTRACT(epoch FROM (n.at -
        CASE
            WHEN (f.seq > 0) THEN f.at
            ELSE n.since
        END)), (0)::numeric))::double precision AS behind_seconds,
    r.at AS nodes_at
   FROM ((public.folded f
     CROSS JOIN public.rolled r)
     LEFT JOIN LATERAL ( SELECT b.seq,
            b.at,
            ( SELECT o.at
                   FROM public.batches o
                  ORDER BY o.seq
                 LIMIT 1) AS since
           FROM public.batches b
          ORDER BY b.seq DESC
         LIMIT 1) n ON (true));

COMMENT ON VIEW report.freshness IS 'How far the views are behind what was decided: one row. Those of shares, jobs, leases, attempts, usage and claims show what was decided up to folded_seq.';

COMMENT ON COLUMN report.freshness.folded_seq IS 'Number of the last batch of the log that the views show.';

COMMENT ON COLUMN report.freshness.folded_at IS 'When that was appended.';

COMMENT ON COLUMN report.freshness.newest_seq IS 'Number of the newest batch.';

COMMENT ON COLUMN report.freshness.newest_at IS 'When that was appended.';

COMMENT ON COLUMN report.freshness.behind_seconds IS 'Seconds between the two; NULL: nothing was ever decided.';

COMMENT ON COLUMN report.freshness.nodes_at IS 'Up to when report.node_usage has sums; later attempts it reads one by one.';

CREATE VIEW report.jobs AS
 SELECT j.id AS job_id,
    b.task_id,
    s.path AS share,
    w.state,
    b.priority,
    COALESCE(h.attempt, r.attempt, (y.attempt + ((NOT (o.state IS DISTINCT FROM 'c'::"char")))::integer), 1) AS attempt,
    (b.max_attempts + ( SELECT (count(*))::integer AS count
           FROM public.history v
          WHERE ((v.job = j.id) AND (v.ended_at >= b.made_at) AND (v.outcome = 'r'::"char")))) AS max_attempts,
    j.idx AS index,
    j.retry_of,
    q.name AS queue,
    h.pilot,
    b.made_at AS created_at,
        CASE
            WHEN (w.state = ANY (ARRAY['finished'::text, 'failed'::text, 'cancelled'::text])) THEN COALESCE(o.at, y.ended_at)
            ELSE NULL::timestamp with time zone
        END AS ended_at
   FROM ((((((((public.jobs j
     CROSS JOIN LATERAL ( SELECT k.low,
            k.high,
            k.task_id,
            k.made_at,
            k.share_id,
            k.shape_id,
            k.priority,
            k.max_attempts,
            k.again
           FROM public.job_blocks k
          WHERE (k.low <= j.id)
          ORDER BY k.low DESC
         LIMIT 1) b)
     LEFT JOIN public.leases_now h ON ((h.job = j.id)))
     LEFT JOIN LATERAL ( SELECT i.high,
            i.low,
            i.task,
            i.place,
            i.share,
            i.shape,
            i.attempt,
            i.state
           FROM ( SELECT n.high,
                    n.low,
                    n.task,
                    n.place,
                    n.share,
                    n.shape,
                    n.attempt,
                    n.state
                   FROM public.idle_ranges n
                  WHERE (n.high >= j.id)
                  ORDER BY n.high
                 LIMIT 1) i
          WHERE ((i.low <= j.id) AND (h.job IS NULL))) r ON (true))
     LEFT JOIN LATERAL ( SELECT i.low,
            i.high,
            i.task,
            i.nth,
            i.at,
            i.state
           FROM ( SELECT n.low,
                    n.high,
                    n.task,
                    n.nth,
                    n.at,
                    n.state
                   FROM public.over_ranges n
                  WHERE (n.high >= j.id)
                  ORDER BY n.high
                 LIMIT 1) i
          WHERE ((i.low <= j.id) AND (h.job IS NULL) AND (r.high IS NULL))) o ON (true))
     LEFT JOIN LATERAL ( SELECT a.attempt,
            a.share,
            a.state,
            a.ended_at
           FROM public.history a
          WHERE ((a.job = j.id) AND (a.ended_at >= b.made_at) AND (h.job IS NULL) AND (r.high IS NULL))
          ORDER BY a.attempt DESC
         LIMIT 1) y ON (true))
     CROSS JOIN LATERAL ( SELECT
                CASE
                    WHEN (h.job IS NOT NULL) THEN 'leased'::text
                    WHEN (r.state = 'r'::"char") THEN 'ready'::text
                    WHEN (r.state IS NOT NULL) THEN 'waiting'::text
                    WHEN (COALESCE(o.state, y.state) = 'f'::"char") THEN 'finished'::text
                    WHEN (COALESCE(o.state, y.state) = 'x'::"char") THEN 'failed'::text
                    WHEN (COALESCE(o.state, y.state) = 'c'::"char") THEN 'cancelled'::text
                    WHEN (EXISTS ( SELECT
                       FROM public.paused_tasks p
                      WHERE (p.task = b.task_id))) THEN 'waiting'::text
                    WHEN (b.made_at > (( SELECT f.at
                       FROM public.folded f) - '01:00:00'::interval)) THEN 'ready'::text
                    ELSE NULL::text
                END AS state) w)
     LEFT JOIN public.shares s ON ((s.id = COALESCE(h.share, r.share, y.share, b.share_id))))
     LEFT JOIN public.queues q ON ((q.id = h.queue)))
  WHERE (w.state IS NOT NULL);

COMMENT ON VIEW report.jobs IS 'Every job, live or ended. Restrict it by job_id: there may be very many. Those of a task are found sooner in report.task_jobs.';

COMMENT ON COLUMN report.jobs.job_id IS 'Id of the job.';

COMMENT ON COLUMN report.jobs.task_id IS 'Task that it is a piece of.';

COMMENT ON COLUMN report.jobs.share IS 'Path of the share that pays.';

COMMENT ON COLUMN report.jobs.state IS 'waiting, ready or leased; in the end finished, failed or cancelled.';

COMMENT ON COLUMN report.jobs.priority IS 'Within its share, higher goes first.';

COMMENT ON COLUMN report.jobs.attempt IS 'Number of the attempt that it is at or ended with, from 1.';

COMMENT ON COLUMN report.jobs.max_attempts IS 'Attempts that it may have.';

COMMENT ON COLUMN report.jobs.index IS 'Which piece of the task it is, from 0.';

COMMENT ON COLUMN report.jobs.retry_of IS 'Job whose piece it tries again; NULL for a first try.';

COMMENT ON COLUMN report.jobs.queue IS 'Queue where it runs; NULL unless it is leased.';

COMMENT ON COLUMN report.jobs.pilot IS 'Pilot that runs it; NULL unless it is leased.';

COMMENT ON COLUMN report.jobs.created_at IS 'When it was made.';

COMMENT ON COLUMN report.jobs.ended_at IS 'When it reached its final state; NULL before.';

CREATE VIEW report.judgements AS
 SELECT a.job AS job_id,
    a.attempt,
    a.task AS task_id,
    t.user_name,
    s.path AS share,
    q.name AS queue,
        CASE a.outcome
            WHEN 'x'::"char" THEN 'failed'::text
            WHEN 'l'::"char" THEN 'lost'::text
            WHEN 'f'::"char" THEN 'finished'::text
            WHEN 'c'::"char" THEN 'cancelled'::text
            ELSE 'revoked'::text
        END AS outcome,
    NULLIF(a.exit_code, 0) AS exit_code,
    COALESCE(( SELECT x.reason
           FROM public.attempt_texts x
          WHERE ((x.job_id = a.job) AND (x.attempt = a.attempt) AND (x.ended_on = ((a.ended_at AT TIME ZONE 'UTC'::text))::date))), ''::text) AS message,
    a.ended_at,
    j.note AS judged
   FROM ((((public.judgements j
     CROSS JOIN LATERAL ( SELECT h.job,
            h.nonce,
            h.task,
            h.units,
            h.granted_at,
            h.ended_at,
            h.cpu_ms,
            h.attempt,
            h.share,
            h.shape,
            h.queue,
            h.start_delay_ms,
            h.exit_code,
            h.memory_mb,
            h.outcome,
            h.state,
            h.pilot,
            h.node
           FROM public.history h
          WHERE ((h.job = j.job_id) AND (h.attempt = j.attempt))
          ORDER BY h.ended_at DESC
         LIMIT 1) a)
     LEFT JOIN public.shares s ON ((s.id = a.share)))
     LEFT JOIN public.queues q ON ((q.id = a.queue)))
     LEFT JOIN public.tasks t ON ((t.id = a.task)));

COMMENT ON VIEW report.judgements IS 'Attempts that did not finish and of which a retry rule or the terms of their task made something. ';

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

CREATE VIEW report.leases AS
 SELECT l.job AS job_id,
    l.attempt,
    l.task AS task_id,
    t.user_name,
    s.path AS share,
    q.name AS queue,
    h.cores,
    (((l.units)::numeric / 1000.0))::numeric(20,3) AS units,
    ( SELECT b.priority
           FROM public.job_blocks b
          WHERE (b.low <= l.job)
          ORDER BY b.low DESC
         LIMIT 1) AS priority,
        CASE
            WHEN (l.start_delay_ms < 0) THEN 'granted'::text
            ELSE 'running'::text
        END AS state,
    l.pilot,
    l.node,
    (now() - l.granted_at) AS age,
    l.granted_at AS claimed_at,
        CASE
            WHEN (l.start_delay_ms >= 0) THEN (l.granted_at + ((l.start_delay_ms)::double precision * '00:00:00.001'::interval))
            ELSE NULL::timestamp with time zone
        END AS started_at,
    NULLIF(l.reason, ''::text) AS cancel_reason
   FROM ((((public.leases_now l
     JOIN public.shapes h ON ((h.id = l.shape)))
     LEFT JOIN public.shares s ON ((s.id = l.share)))
     LEFT JOIN public.queues q ON ((q.id = l.queue)))
     LEFT JOIN public.tasks t ON ((t.id = l.task)));

COMMENT ON VIEW report.leases IS 'What runs now: one row a leased job.';

COMMENT ON COLUMN report.leases.job_id IS 'Job that is leased.';

COMMENT ON COLUMN report.leases.attempt IS 'Number of this attempt, from 1.';

COMMENT ON COLUMN report.leases.task_id IS 'Task of the job.';

COMMENT ON COLUMN report.leases.user_name IS 'Whose task it is.';

COMMENT ON COLUMN report.leases.share IS 'Path of the share that is charged.';

COMMENT ON COLUMN report.leases.queue IS 'Queue where it runs.';

COMMENT ON COLUMN report.leases.cores IS 'Cores that it holds.';

COMMENT ON COLUMN report.leases.units IS 'Units that it is charged: cores times the core power of the queue.';

COMMENT ON COLUMN report.leases.priority IS 'Priority of the job.';

COMMENT ON COLUMN report.leases.state IS 'granted, or running from when its pilot said so.';

COMMENT ON COLUMN report.leases.pilot IS 'Pilot that holds the lease.';

COMMENT ON COLUMN report.leases.node IS 'Host of the pilot; empty when it did not say.';

COMMENT ON COLUMN report.leases.age IS 'Time since the claim.';

COMMENT ON COLUMN report.leases.claimed_at IS 'When it was claimed; charging starts here.';

COMMENT ON COLUMN report.leases.started_at IS 'When its pilot first said, in a renewal, that it runs: later than the payload began by up to the time between two renewals. NULL: it has not said so.';

COMMENT ON COLUMN report.leases.cancel_reason IS 'Why the pilot was told to end it; NULL when it was not.';

CREATE VIEW report.ledger AS
 SELECT b.seq,
    e.i AS entry,
    b.at,
    b.by,
        CASE e.letter
            WHEN 'q'::text THEN 'enqueued'::text
            WHEN 'g'::text THEN 'granted'::text
            WHEN 's'::text THEN 'started'::text
            WHEN 'e'::text THEN 'ended'::text
            WHEN 'v'::text THEN 'revoked'::text
            WHEN 'x'::text THEN 'expected'::text
            WHEN 'h'::text THEN 'shaped'::text
            WHEN 'a'::text THEN 'adopted'::text
            WHEN 'b'::text THEN 'bounded'::text
            WHEN 'p'::text THEN 'polled'::text
            WHEN 'L'::text THEN 'leader'::text
            WHEN 't'::text THEN 'tick'::text
            WHEN 'c'::text THEN 'claimed'::text
            WHEN 'u'::text THEN 'unclaimed'::text
            WHEN 'j'::text THEN 'joined'::text
            WHEN 'd'::text THEN 'dropped'::text
            WHEN 'k'::text THEN 'took'::text
            WHEN 'P'::text THEN 'paused'::text
            WHEN 'R'::text THEN 'resumed'::text
            WHEN 'K'::text THEN 'killed'::text
            WHEN 'o'::text THEN 'placed'::text
            WHEN 'M'::text THEN 'moved'::text
            WHEN 'f'::text THEN 'closed'::text
            WHEN 'C'::text THEN 'capped'::text
            WHEN 'r'::text THEN 'reported'::text
            WHEN 'H'::text THEN 'holed'::text
            WHEN 'O'::text THEN 'owed'::text
            WHEN 'S'::text THEN 'stood'::text
            WHEN 'A'::text THEN 'asked'::text
            WHEN 'l'::text THEN 'lasting'::text
            WHEN 'W'::text THEN 'wished'::text
            WHEN 'E'::text THEN 'heard'::text
            ELSE e.letter
        END AS kind,
    COALESCE(g.job, x.job, s.job, ((b.rare[r.n] ->> 'job'::text))::bigint) AS job,
    COALESCE(g.attempt, x.attempt, s.attempt,
        CASE e.letter
            WHEN 'g'::text THEN b.granted_attempts[1]
            WHEN 'e'::text THEN b.ended_attempts[1]
            WHEN 's'::text THEN b.started_attempts[1]
            ELSE NULL::integer
        END, ((b.rare[r.n] ->> 'attempt'::text))::integer) AS attempt,
        CASE e.letter
            WHEN 'g'::text THEN COALESCE(g.task, b.granted_tasks[1])
            ELSE ((b.rare[r.n] ->> 'task'::text))::bigint
        END AS task,
        CASE e.letter
            WHEN 'g'::text THEN COALESCE(g.share, b.granted_shares[1])
            ELSE ((b.rare[r.n] ->> 'share'::text))::integer
        END AS share,
        CASE e.letter
            WHEN 'g'::text THEN COALESCE(g.shape, b.granted_shapes[1])
            ELSE ((b.rare[r.n] ->> 'shape'::text))::integer
        END AS shape,
        CASE e.letter
            WHEN 'g'::text THEN COALESCE(g.place, b.granted_places[1])
            ELSE ((b.rare[r.n] ->> 'place'::text))::bigint
        END AS place,
        CASE e.letter
            WHEN 'g'::text THEN COALESCE(g.queue, b.granted_queues[1])
            WHEN 'p'::text THEN ((b.rare[r.n] ->> 'queue'::text))::integer
            ELSE NULL::integer
        END AS queue,
        CASE e.letter
            WHEN 'g'::text THEN COALESCE(g.units, b.granted_units[1])
            ELSE NULL::bigint
        END AS units,
        CASE e.letter
            WHEN 'g'::text THEN COALESCE(g.pilot, b.granted_pilots[1])
            ELSE NULL::text
        END AS pilot,
        CASE e.letter
            WHEN 'g'::text THEN COALESCE(g.node, b.granted_nodes[1])
            ELSE NULL::text
        END AS node,
        CASE e.letter
            WHEN 'e'::text THEN substr(b.ended_outcomes, LEAST((e.n)::integer, length(b.ended_outcomes)), 1)
            ELSE NULL::text
        END AS outcome,
        CASE e.letter
            WHEN 'e'::text THEN substr(b.ended_next, LEAST((e.n)::integer, length(b.ended_next)), 1)
            ELSE NULL::text
        END AS next,
        CASE e.letter
            WHEN 'e'::text THEN COALESCE(x.exit_code, b.ended_exit_codes[1])
            ELSE NULL::integer
        END AS exit_code,
        CASE e.letter
            WHEN 'e'::text THEN COALESCE(x.cpu_milli, b.ended_cpu_milli[1])
            ELSE NULL::bigint
        END AS cpu_milli,
        CASE e.letter
            WHEN 'e'::text THEN COALESCE(x.memory_mb, b.ended_memory_mb[1])
            ELSE NULL::bigint
        END AS memory_mb,
    b.rare[r.n] AS detail
   FROM (((((public.batches b
     CROSS JOIN LATERAL ( SELECT i.i,
            letter.letter,
            row_number() OVER (PARTITION BY
                CASE
                    WHEN (letter.letter = ANY (ARRAY['g'::text, 'e'::text, 's'::text])) THEN letter.letter
                    ELSE NULL::text
                END ORDER BY i.i) AS n
           FROM generate_series(1, length(b.kinds)) i(i),
            LATERAL substr(b.kinds, i.i, 1) letter(letter)) e)
     CROSS JOIN LATERAL ( SELECT
                CASE
                    WHEN (e.letter <> ALL (ARRAY['g'::text, 'e'::text, 's'::text])) THEN e.n
                    ELSE NULL::bigint
                END AS n) r)
     LEFT JOIN LATERAL UNNEST(b.granted_jobs, b.granted_attempts, b.granted_tasks, b.granted_shares, b.granted_shapes, b.granted_places, b.granted_queues, b.granted_units, b.granted_pilots, b.granted_nodes) WITH ORDINALITY g(job, attempt, task, share, shape, place, queue, units, pilot, node, n) ON (((e.letter = 'g'::text) AND (g.n = e.n))))
     LEFT JOIN LATERAL UNNEST(b.ended_jobs, b.ended_attempts, b.ended_exit_codes, b.ended_cpu_milli, b.ended_memory_mb) WITH ORDINALITY x(job, attempt, exit_code, cpu_milli, memory_mb, n) ON (((e.letter = 'e'::text) AND (x.n = e.n))))
     LEFT JOIN LATERAL UNNEST(b.started_jobs, b.started_attempts) WITH ORDINALITY s(job, attempt, n) ON (((e.letter = 's'::text) AND (s.n = e.n))));

COMMENT ON VIEW report.ledger IS 'The log: a row an entry, for as long as the log is kept. Restrict it by seq >= report.ledger_seq(''…''). Secrets are left out.';

COMMENT ON COLUMN report.ledger.seq IS 'Number of the batch: what was decided together. Without gaps.';

COMMENT ON COLUMN report.ledger.entry IS 'Number of the entry in its batch, from 1.';

COMMENT ON COLUMN report.ledger.at IS 'When the batch was appended.';

COMMENT ON COLUMN report.ledger.by IS 'Daemon that decided.';

COMMENT ON COLUMN report.ledger.kind IS 'What happened: enqueued, granted, started, ended, …';

COMMENT ON COLUMN report.ledger.job IS 'Job, of entries that are about one; of others see detail.';

COMMENT ON COLUMN report.ledger.attempt IS 'Number of the attempt, from 1.';

COMMENT ON COLUMN report.ledger.task IS 'Task of the jobs.';

COMMENT ON COLUMN report.ledger.share IS 'Stable id of the share.';

COMMENT ON COLUMN report.ledger.shape IS 'Number of the requirements.';

COMMENT ON COLUMN report.ledger.place IS 'Place in the order of the share: lower comes first.';

COMMENT ON COLUMN report.ledger.queue IS 'Stable id of the queue.';

COMMENT ON COLUMN report.ledger.units IS 'Thousandths of a unit that a grant holds.';

COMMENT ON COLUMN report.ledger.pilot IS 'Pilot that was given the job.';

COMMENT ON COLUMN report.ledger.node IS 'Host of the pilot.';

COMMENT ON COLUMN report.ledger.outcome IS 'Of an end: f finished, x failed, l lost, c cancelled, r revoked.';

COMMENT ON COLUMN report.ledger.next IS 'What becomes of the job then: . it is over, c it is cancelled, r it is ready again, w a rule decides.';

COMMENT ON COLUMN report.ledger.exit_code IS 'Of the process; 0 where there is none.';

COMMENT ON COLUMN report.ledger.cpu_milli IS 'Milliseconds of processor time.';

COMMENT ON COLUMN report.ledger.memory_mb IS 'Peak memory.';

COMMENT ON COLUMN report.ledger.detail IS 'All fields of entries of the other kinds.';

CREATE VIEW report.loans AS
 SELECT h.at,
    h.pool,
    h.share_id,
    s.path AS share,
    s.leaf,
    (h.deserved)::numeric(20,3) AS deserved_units,
    (((h.held)::numeric / 1000.0))::numeric(20,3) AS held_units,
    (COALESCE(h.lent, (0)::real))::numeric(20,3) AS lent_units,
    (COALESCE(h.borrowed, (0)::real))::numeric(20,3) AS borrowed_units
   FROM (public.share_samples h
     JOIN public.shares s ON ((s.id = h.share_id)))
  WHERE (h.deserved IS NOT NULL);

COMMENT ON VIEW report.loans IS 'Samples of what every share lent and borrowed.';

COMMENT ON COLUMN report.loans.at IS 'When the sample was taken.';

COMMENT ON COLUMN report.loans.pool IS 'Resource group: the queues that are shared out together.';

COMMENT ON COLUMN report.loans.share_id IS 'Stable id of the share.';

COMMENT ON COLUMN report.loans.share IS 'Path of the share as it is called now.';

COMMENT ON COLUMN report.loans.leaf IS 'Leaves hold jobs; inner nodes only divide.';

COMMENT ON COLUMN report.loans.deserved_units IS 'Units that it would have got if every share had wanted everything: what it owns and its part of the rest by weight.';

COMMENT ON COLUMN report.loans.held_units IS 'Units that it held. Beyond deserved_units they are parts of others that these did not want.';

COMMENT ON COLUMN report.loans.lent_units IS 'Units that it owned and siblings used.';

COMMENT ON COLUMN report.loans.borrowed_units IS 'Units that siblings owned and it used.';

CREATE VIEW report.loans_now AS
 SELECT n.at,
    p.pool,
    s.id AS share_id,
    s.path AS share,
    s.leaf,
    (n.deserved)::numeric(20,3) AS deserved_units,
    (((n.held)::numeric / 1000.0))::numeric(20,3) AS held_units,
    (COALESCE(n.lent, (0)::real))::numeric(20,3) AS lent_units,
    (COALESCE(n.borrowed, (0)::real))::numeric(20,3) AS borrowed_units
   FROM ((public.shares s
     CROSS JOIN ( SELECT DISTINCT q.pool
           FROM public.queues q
          WHERE (q.removed_in IS NULL)) p)
     CROSS JOIN LATERAL ( SELECT h.at,
            h.deserved,
            h.held,
            h.lent,
            h.borrowed
           FROM public.share_samples h
          WHERE ((h.share_id = s.id) AND (h.pool = p.pool))
          ORDER BY h.at DESC
         LIMIT 1) n)
  WHERE ((s.removed_in IS NULL) AND (n.deserved IS NOT NULL));

COMMENT ON VIEW report.loans_now IS 'What every share of the tree in force lends and borrows, by the newest sample.';

COMMENT ON COLUMN report.loans_now.at IS 'When the sample was taken.';

COMMENT ON COLUMN report.loans_now.pool IS 'Resource group: the queues that are shared out together.';

COMMENT ON COLUMN report.loans_now.share_id IS 'Stable id of the share.';

COMMENT ON COLUMN report.loans_now.share IS 'Path of the share.';

COMMENT ON COLUMN report.loans_now.leaf IS 'Leaves hold jobs; inner nodes only divide.';

COMMENT ON COLUMN report.loans_now.deserved_units IS 'Units that it would get if every share wanted everything: what it owns and its part of the rest by weight.';

COMMENT ON COLUMN report.loans_now.held_units IS 'Units that it holds. Beyond deserved_units they are parts of others that these do not want.';

COMMENT ON COLUMN report.loans_now.lent_units IS 'Units that it owns and siblings use.';

COMMENT ON COLUMN report.loans_now.borrowed_units IS 'Units that siblings own and it uses.';

CREATE VIEW report.node_usage AS
 SELECT u.day,
    q.name AS queue,
    u.node,
    u.slot_seconds,
    u.wasted_slot_seconds,
    u.jobs,
    u.failures,
    u.lost,
    u.finished,
    u.cancelled,
    u.revoked
   FROM (( SELECT both_parts.day,
            both_parts.queue,
            both_parts.node,
            (sum(both_parts.slot_ms) * 0.001) AS slot_seconds,
            (sum(both_parts.wasted_slot_ms) * 0.001) AS wasted_slot_seconds,
            (sum(((((both_parts.finished + both_parts.failed) + both_parts.lost) + both_parts.cancelled) + both_parts.returned)))::bigint AS jobs,
            (sum(both_parts.failed))::bigint AS failures,
            (sum(both_parts.lost))::bigint AS lost,
            (sum(both_parts.finished))::bigint AS finished,
            (sum(both_parts.cancelled))::bigint AS cancelled,
            (sum(both_parts.returned))::bigint AS revoked
           FROM ( SELECT ((node_usage.day AT TIME ZONE 'UTC'::text))::date AS day,
                    node_usage.queue,
                    node_usage.node,
                    node_usage.slot_ms,
                    node_usage.wasted_slot_ms,
                    node_usage.finished,
                    node_usage.failed,
                    node_usage.lost,
                    node_usage.cancelled,
                    node_usage.returned
                   FROM public.node_usage
                UNION ALL
                 SELECT ((GREATEST(a.ended_at, a.granted_at) AT TIME ZONE 'UTC'::text))::date AS timezone,
                    a.queue,
                    a.node,
                    ((h.cores)::numeric * (floor((EXTRACT(epoch FROM GREATEST(a.ended_at, a.granted_at)) * (1000)::numeric)) - floor((EXTRACT(epoch FROM a.granted_at) * (1000)::numeric)))),
                        CASE
                            WHEN (a.outcome = ANY (ARRAY['x'::"char", 'l'::"char", 'r'::"char"])) THEN ((h.cores)::numeric * (floor((EXTRACT(epoch FROM GREATEST(a.ended_at, a.granted_at)) * (1000)::numeric)) - floor((EXTRACT(epoch FROM a.granted_at) * (1000)::numeric))))
                            ELSE (0)::numeric
                        END AS "case",
                    ((a.outcome = 'f'::"char"))::integer AS int4,
                    ((a.outcome = 'x'::"char"))::integer AS int4,
                    ((a.outcome = 'l'::"char"))::integer AS int4,
                    ((a.outcome = 'c'::"char"))::integer AS int4,
                    ((a.outcome = 'r'::"char"))::integer AS int4
                   FROM (public.history a
                     JOIN public.shapes h ON ((h.id = a.shape)))
                  WHERE (a.ended_at >= ( SELECT r.at
                           FROM public.rolled r))) both_parts
          GROUP BY both_parts.day, both_parts.queue, both_parts.node) u
     LEFT JOIN public.queues q ON ((q.id = u.queue)));

COMMENT ON VIEW report.node_usage IS 'Attempts that ended at a node on a day (UTC), with all that they cost, also what they cost the day before.';

COMMENT ON COLUMN report.node_usage.day IS 'Day, UTC.';

COMMENT ON COLUMN report.node_usage.queue IS 'Queue that the node belongs to.';

COMMENT ON COLUMN report.node_usage.node IS 'Host of the pilots; empty when they did not say.';

COMMENT ON COLUMN report.node_usage.slot_seconds IS 'Cores times seconds of these attempts, from claim to end.';

COMMENT ON COLUMN report.node_usage.wasted_slot_seconds IS 'Of these, those of attempts that failed, were lost or revoked.';

COMMENT ON COLUMN report.node_usage.jobs IS 'Attempts that ended, whatever their outcome.';

COMMENT ON COLUMN report.node_usage.failures IS 'Of these, those that failed.';

COMMENT ON COLUMN report.node_usage.lost IS 'Of these, those whose lease ran out.';

COMMENT ON COLUMN report.node_usage.finished IS 'Of these, those that finished.';

COMMENT ON COLUMN report.node_usage.cancelled IS 'Of these, those that nobody wanted any more.';

COMMENT ON COLUMN report.node_usage.revoked IS 'Of these, those whose units were reclaimed.';

CREATE VIEW report.queue_health AS
 WITH held AS (
         SELECT c.queue,
            sum(c.held) AS jobs,
            sum((c.held * h_1.cores)) AS cores,
            sum(c.held_units) AS units
           FROM (public.share_counts c
             JOIN public.shapes h_1 ON ((h_1.id = c.shape)))
          WHERE (c.queue <> 0)
          GROUP BY c.queue
        ), used AS (
         SELECT hour_usage.queue,
            sum(((((hour_usage.finished + hour_usage.failed) + hour_usage.lost) + hour_usage.cancelled) + hour_usage.returned)) AS attempts,
            sum(hour_usage.failed) AS failed,
            sum(hour_usage.lost) AS lost,
            (sum(hour_usage.slot_ms) * 0.001) AS slot_seconds,
            (sum(hour_usage.wasted_slot_ms) * 0.001) AS wasted
           FROM public.hour_usage
          WHERE (hour_usage.hour >= (date_trunc('hour'::text, now(), 'UTC'::text) - '23:00:00'::interval))
          GROUP BY hour_usage.queue
        )
 SELECT q.name AS queue,
    q.pool,
    q.state,
    q.slots,
    ((q.core_power_milli)::numeric / 1000.0) AS core_power,
    (COALESCE(h.jobs, (0)::numeric))::bigint AS held_jobs,
    (COALESCE(h.cores, (0)::numeric))::bigint AS held_cores,
    ((COALESCE(h.units, (0)::numeric) / (1000)::numeric))::numeric(20,3) AS held_units,
    COALESCE(((p.entry ->> 'is'::text))::boolean, false) AS has_pilots,
    b.since AS black_hole_since,
    (COALESCE(u.attempts, (0)::numeric))::bigint AS attempts,
    (COALESCE(u.failed, (0)::numeric))::bigint AS failures,
    (COALESCE(u.lost, (0)::numeric))::bigint AS lost,
    round(((100.0 * (u.failed + u.lost)) / NULLIF(u.attempts, (0)::numeric)), 1) AS bad_percent,
    COALESCE(u.slot_seconds, (0)::numeric) AS slot_seconds,
    COALESCE(u.wasted, (0)::numeric) AS wasted_slot_seconds
   FROM ((((public.queues q
     LEFT JOIN held h ON ((h.queue = q.id)))
     LEFT JOIN used u ON ((u.queue = q.id)))
     LEFT JOIN public.latest p ON (((p.kind = 'p'::"char") AND (p.key = q.id))))
     LEFT JOIN public.black_holes b ON ((b.queue_id = q.id)))
  WHERE (q.removed_in IS NULL);

COMMENT ON VIEW report.queue_health IS 'The queues of the site in force: what they hold now, and how attempts ended there in this hour and the 23 before it.';

COMMENT ON COLUMN report.queue_health.queue IS 'Name of the queue.';

COMMENT ON COLUMN report.queue_health.pool IS 'Resource group.';

COMMENT ON COLUMN report.queue_health.state IS 'online, drain, offline or test.';

COMMENT ON COLUMN report.queue_health.slots IS 'Cores that may run at once; NULL: no limit.';

COMMENT ON COLUMN report.queue_health.core_power IS 'Units that a core of it counts.';

COMMENT ON COLUMN report.queue_health.held_jobs IS 'Jobs under a lease there.';

COMMENT ON COLUMN report.queue_health.held_cores IS 'Cores that they hold.';

COMMENT ON COLUMN report.queue_health.held_units IS 'Units that they hold.';

COMMENT ON COLUMN report.queue_health.has_pilots IS 'Whether a daemon has seen pilots of it lately.';

COMMENT ON COLUMN report.queue_health.black_hole_since IS 'Since when it is given a job from time to time only, as it failed nearly all; NULL: it is not.';

COMMENT ON COLUMN report.queue_health.attempts IS 'Attempts that ended there, whatever their outcome.';

COMMENT ON COLUMN report.queue_health.failures IS 'Of these, those that failed.';

COMMENT ON COLUMN report.queue_health.lost IS 'Of these, those whose lease ran out.';

COMMENT ON COLUMN report.queue_health.bad_percent IS 'failures and lost of 100 attempts; NULL: there were none.';

COMMENT ON COLUMN report.queue_health.slot_seconds IS 'Cores times seconds that ended attempts used in these hours.';

COMMENT ON COLUMN report.queue_health.wasted_slot_seconds IS 'Of these, those of attempts that failed, were lost or revoked.';

CREATE VIEW report.reclaims AS
 SELECT r.job_id,
    r.attempt,
    r.pool,
    c.path AS claimer,
    v.path AS victim,
    (((r.units)::numeric / 1000.0))::numeric(20,3) AS units,
    r.grace_s AS grace_seconds,
        CASE
            WHEN (r.closed_at IS NOT NULL) THEN COALESCE(r.outcome, 'unknown'::text)
            ELSE 'ordered'::text
        END AS state,
    r.ordered_at,
    r.closed_at,
    r.lost AS lost_unit_seconds,
    l.pilot
   FROM (((public.reclaims r
     LEFT JOIN public.held l ON (((l.job = r.job_id) AND (l.nonce = r.nonce) AND (r.closed_at IS NULL))))
     LEFT JOIN public.shares c ON ((c.id = r.claimer_id)))
     LEFT JOIN public.shares v ON ((v.id = r.victim_id)));

COMMENT ON VIEW report.reclaims IS 'Orders to running jobs to give their units back to a share that is below its target; kept for a week.';

COMMENT ON COLUMN report.reclaims.job_id IS 'Job that was to end. It is ready again afterwards.';

COMMENT ON COLUMN report.reclaims.attempt IS 'Its attempt.';

COMMENT ON COLUMN report.reclaims.pool IS 'Resource group.';

COMMENT ON COLUMN report.reclaims.claimer IS 'Share that asked for the units.';

COMMENT ON COLUMN report.reclaims.victim IS 'Share that the job belongs to.';

COMMENT ON COLUMN report.reclaims.units IS 'Units that the job held.';

COMMENT ON COLUMN report.reclaims.grace_seconds IS 'Seconds that the pilot has from when a renewal told it.';

COMMENT ON COLUMN report.reclaims.state IS 'ordered; then the outcome of the attempt: revoked, or finished, failed, lost, cancelled when that came first. unknown: nothing is recorded.';

COMMENT ON COLUMN report.reclaims.ordered_at IS 'When it was decided.';

COMMENT ON COLUMN report.reclaims.closed_at IS 'When the lease was seen to be gone; NULL while the order is open.';

COMMENT ON COLUMN report.reclaims.lost_unit_seconds IS 'Units times seconds that a revoked attempt had held: work that is done again.';

COMMENT ON COLUMN report.reclaims.pilot IS 'Pilot that is to end the job, of an open order.';

CREATE VIEW report.resource_claims AS
 SELECT c.id AS claim_id,
    NULLIF(c.task, 0) AS task_id,
    t.user_name,
    c.key,
    c.state,
    (c.template ->> 'Name'::text) AS template,
    COALESCE(NULLIF((c.template -> 'Resources'::text), 'null'::jsonb), '{}'::jsonb) AS resources,
    (COALESCE(((c.template ->> 'Node'::text))::boolean, false) OR ((c.task = 0) AND (c.node <> ''::text)) OR (COALESCE(NULLIF((c.template -> 'Devices'::text), 'null'::jsonb), '{}'::jsonb) <> '{}'::jsonb)) AS on_node,
    COALESCE(NULLIF((c.template -> 'Devices'::text), 'null'::jsonb), '{}'::jsonb) AS device_kinds,
    NULLIF(((c.template ->> 'MaxSharers'::text))::integer, 0) AS max_sharers,
    COALESCE(((c.template ->> 'Gang'::text))::boolean, false) AS gang,
    c.missing,
    COALESCE((((c.template ->> 'Linger'::text))::double precision / (1000000000)::double precision), (0)::double precision) AS linger_seconds,
    q.name AS queue,
        CASE
            WHEN m.here THEN NULLIF(c.node, ''::text)
            ELSE NULL::text
        END AS node,
        CASE
            WHEN m.here THEN c.devices
            ELSE '{}'::text[]
        END AS devices,
        CASE
            WHEN m.here THEN c.bound_at
            ELSE NULL::timestamp with time zone
        END AS bound_at,
    s.path AS share,
        CASE
            WHEN (m.here AND (c.share <> 0)) THEN c.sharing_id
            ELSE NULL::text
        END AS sharing_id,
    c.sharers,
    c.idle_since,
    c.made_at AS created_at,
    c.ended_at
   FROM ((((public.claims c
     CROSS JOIN LATERAL ( SELECT (c.state = ANY (ARRAY['bound'::text, 'draining'::text])) AS here) m)
     LEFT JOIN public.tasks t ON ((t.id = c.task)))
     LEFT JOIN public.queues q ON (((q.id = c.queue) AND m.here)))
     LEFT JOIN public.shares s ON (((s.id = c.share) AND m.here)));

COMMENT ON VIEW report.resource_claims IS 'What several jobs hold together: one row a resource claim, also those that were released in the last days.';

COMMENT ON COLUMN report.resource_claims.claim_id IS 'Id of the claim.';

COMMENT ON COLUMN report.resource_claims.task_id IS 'Task whose jobs share it; NULL: people made it.';

COMMENT ON COLUMN report.resource_claims.user_name IS 'Whose task it is.';

COMMENT ON COLUMN report.resource_claims.key IS 'Which of the task''s claims; of one that people made, its name.';

COMMENT ON COLUMN report.resource_claims.state IS 'pending, bound, draining or released.';

COMMENT ON COLUMN report.resource_claims.template IS 'Name of the template that it was made by.';

COMMENT ON COLUMN report.resource_claims.resources IS 'Units that it holds while it is bound, by name.';

COMMENT ON COLUMN report.resource_claims.on_node IS 'Whether its jobs run on one node.';

COMMENT ON COLUMN report.resource_claims.device_kinds IS 'Devices of that node that it takes, by kind.';

COMMENT ON COLUMN report.resource_claims.max_sharers IS 'Jobs that may hold it at a time; NULL: no bound.';

COMMENT ON COLUMN report.resource_claims.gang IS 'Whether its jobs start together.';

COMMENT ON COLUMN report.resource_claims.missing IS 'Whether its jobs wait for a template, or for people to make it.';

COMMENT ON COLUMN report.resource_claims.linger_seconds IS 'How long it stays bound while nobody holds it.';

COMMENT ON COLUMN report.resource_claims.queue IS 'With node: where it is bound; NULL: nowhere.';

COMMENT ON COLUMN report.resource_claims.node IS 'Node where it is bound, which its jobs run on if on_node.';

COMMENT ON COLUMN report.resource_claims.devices IS 'Of that node, taken for it.';

COMMENT ON COLUMN report.resource_claims.bound_at IS 'Since when it is bound there.';

COMMENT ON COLUMN report.resource_claims.share IS 'Path of the share that its units are counted for; NULL: it holds none.';

COMMENT ON COLUMN report.resource_claims.sharing_id IS 'Whom they are counted for where a resource is split by user; NULL: it holds none.';

COMMENT ON COLUMN report.resource_claims.sharers IS 'Jobs that hold it: those with a lease.';

COMMENT ON COLUMN report.resource_claims.idle_since IS 'Since when nobody holds it although it is bound.';

COMMENT ON COLUMN report.resource_claims.created_at IS 'When the first of its jobs was made.';

COMMENT ON COLUMN report.resource_claims.ended_at IS 'When it was released; kept for as long as a replay may look back.';

CREATE VIEW report.resource_holders AS
 WITH asking AS (
         SELECT s.id AS shape,
            s.label,
            s.sharing_id,
            e.key AS ref,
            (e.value)::bigint AS units
           FROM (public.shapes s
             CROSS JOIN LATERAL jsonb_each_text(s.resources) e(key, value))
          WHERE (s.resources <> '{}'::jsonb)
        ), uses AS (
         SELECT a.ref,
            a.label,
            a.sharing_id,
            c.share,
            c.queue,
            c.ready AS ready_jobs,
            c.held AS held_jobs,
            0 AS held_claims,
            a.units
           FROM (public.share_counts c
             JOIN asking a USING (shape))
        UNION ALL
         SELECT e.key,
            c.label,
            c.sharing_id,
            c.share,
            c.queue,
            0,
            0,
            1,
            (e.value)::bigint AS value
           FROM (public.claims c
             CROSS JOIN LATERAL jsonb_each_text(
                CASE jsonb_typeof((c.template -> 'Resources'::text))
                    WHEN 'object'::text THEN (c.template -> 'Resources'::text)
                    ELSE '{}'::jsonb
                END) e(key, value))
          WHERE ((c.state = ANY (ARRAY['bound'::text, 'draining'::text])) AND (c.task <> 0))
        ), listed AS (
         SELECT split_part(u.ref, ':'::text, 1) AS resource,
                CASE
                    WHEN (strpos(u.ref, ':'::text) > 0) THEN substr(u.ref, (strpos(u.ref, ':'::text) + 1))
                    ELSE NULL::text
                END AS key,
            q.name AS queue,
            COALESCE(r.split_by, 'user'::text) AS split_by,
            u.ready_jobs,
            u.held_jobs,
            u.held_claims,
            u.units,
                CASE COALESCE(r.split_by, 'user'::text)
                    WHEN 'share'::text THEN sh.path
                    WHEN 'label'::text THEN u.label
                    ELSE u.sharing_id
                END AS sharing_id
           FROM (((uses u
             LEFT JOIN public.site_resources r ON (((r.name = split_part(u.ref, ':'::text, 1)) AND (r.version = ( SELECT max(site_versions.version) AS max
                   FROM public.site_versions)))))
             LEFT JOIN public.shares sh ON ((sh.id = u.share)))
             LEFT JOIN public.queues q ON ((r.per_queue AND (q.id = u.queue))))
        )
 SELECT listed.resource,
    listed.key,
    listed.queue,
    listed.sharing_id,
    listed.split_by,
    (sum(listed.held_jobs))::bigint AS held_jobs,
    (sum(((listed.held_jobs + listed.held_claims) * listed.units)))::bigint AS held_units,
    (sum(listed.ready_jobs))::bigint AS ready_jobs,
    (sum((listed.ready_jobs * listed.units)))::bigint AS wanted_units,
    sum(listed.held_claims) AS held_claims
   FROM listed
  GROUP BY listed.resource, listed.key, listed.queue, listed.sharing_id, listed.split_by
 HAVING ((sum((listed.held_jobs + listed.held_claims)) <> (0)::numeric) OR (sum(listed.ready_jobs) <> (0)::numeric));

COMMENT ON VIEW report.resource_holders IS 'Who holds units of a resource and who waits for some: one row a resource and sharing ID, of a resource per queue one a queue too.';

COMMENT ON COLUMN report.resource_holders.resource IS 'Name of the resource.';

COMMENT ON COLUMN report.resource_holders.key IS 'Which of a keyed family, as orders of table:orders; NULL: it is none.';

COMMENT ON COLUMN report.resource_holders.queue IS 'Of a resource per queue: where the units are held; NULL: not per queue, or ready jobs, which are at no queue.';

COMMENT ON COLUMN report.resource_holders.sharing_id IS 'The user (or what the task said instead), path of the share or label, whichever the resource is split by.';

COMMENT ON COLUMN report.resource_holders.split_by IS 'user, share or label, as the site in force says; user for a resource that it does not have.';

COMMENT ON COLUMN report.resource_holders.held_jobs IS 'Jobs under a lease that hold units of it.';

COMMENT ON COLUMN report.resource_holders.held_units IS 'Units that they and held_claims hold.';

COMMENT ON COLUMN report.resource_holders.ready_jobs IS 'Jobs that wait for a slot and for units.';

COMMENT ON COLUMN report.resource_holders.wanted_units IS 'Units that they ask for, without those of claims that are to be bound.';

COMMENT ON COLUMN report.resource_holders.held_claims IS 'Resource claims that hold units of it.';

CREATE VIEW report.resource_holdings AS
 SELECT split_part(e.key, ':'::text, 1) AS resource,
        CASE
            WHEN (strpos(e.key, ':'::text) > 0) THEN substr(e.key, (strpos(e.key, ':'::text) + 1))
            ELSE NULL::text
        END AS key,
    q.name AS queue,
    h.node,
        CASE COALESCE(r.split_by, 'user'::text)
            WHEN 'share'::text THEN s.path
            WHEN 'label'::text THEN h.label
            ELSE h.sharing_id
        END AS sharing_id,
    (e.value)::bigint AS units,
    h.job_id,
    h.claim_id,
    h.task_id,
    s.path AS share,
    h.since
   FROM ((((( SELECT a.resources,
            a.label,
            a.sharing_id,
            l.queue,
            l.share,
            NULLIF(l.node, ''::text) AS node,
            l.job AS job_id,
            NULL::bigint AS claim_id,
            l.task AS task_id,
            l.granted_at AS since
           FROM (public.leases_now l
             JOIN public.shapes a ON (((a.id = l.shape) AND (a.resources <> '{}'::jsonb))))
        UNION ALL
         SELECT
                CASE jsonb_typeof((c.template -> 'Resources'::text))
                    WHEN 'object'::text THEN (c.template -> 'Resources'::text)
                    ELSE '{}'::jsonb
                END AS "case",
            c.label,
            c.sharing_id,
            c.queue,
            c.share,
            NULLIF(c.node, ''::text) AS "nullif",
            NULL::bigint,
            c.id,
            c.task,
            c.bound_at
           FROM public.claims c
          WHERE ((c.state = ANY (ARRAY['bound'::text, 'draining'::text])) AND (c.task <> 0))) h
     CROSS JOIN LATERAL jsonb_each_text(h.resources) e(key, value))
     LEFT JOIN public.site_resources r ON (((r.name = split_part(e.key, ':'::text, 1)) AND (r.version = ( SELECT max(site_versions.version) AS max
           FROM public.site_versions)))))
     LEFT JOIN public.shares s ON ((s.id = h.share)))
     LEFT JOIN public.queues q ON ((q.id = h.queue)));

COMMENT ON VIEW report.resource_holdings IS 'Which units of resources are held by which job or resource claim: one row a resource and holder.';

COMMENT ON COLUMN report.resource_holdings.resource IS 'Name of the resource.';

COMMENT ON COLUMN report.resource_holdings.key IS 'Which of a keyed family, as orders of table:orders; NULL: it is none.';

COMMENT ON COLUMN report.resource_holdings.queue IS 'Queue where they are held.';

COMMENT ON COLUMN report.resource_holdings.node IS 'Node where they are held; NULL: its pilot did not say, or the claim has none.';

COMMENT ON COLUMN report.resource_holdings.sharing_id IS 'Whom they are counted for: the user (or what the task said instead), path of the share or label.';

COMMENT ON COLUMN report.resource_holdings.units IS 'Units that the holder holds.';

COMMENT ON COLUMN report.resource_holdings.job_id IS 'Job that holds them with its lease; NULL: a claim does.';

COMMENT ON COLUMN report.resource_holdings.claim_id IS 'Resource claim that holds them, once for all jobs that share it; NULL: a job does.';

COMMENT ON COLUMN report.resource_holdings.task_id IS 'Task of the job or claim.';

COMMENT ON COLUMN report.resource_holdings.share IS 'Path of the share that they are charged to.';

COMMENT ON COLUMN report.resource_holdings.since IS 'Since when.';

CREATE VIEW report.resources AS
 WITH in_force AS (
         SELECT r_1.version,
            r_1."position",
            r_1.name,
            r_1.capacity,
            r_1.per_queue,
            r_1.keyed,
            r_1.split_by,
            r_1.external_expires
           FROM public.site_resources r_1
          WHERE (r_1.version = ( SELECT max(site_versions.version) AS max
                   FROM public.site_versions))
        ), units AS (
         SELECT resource_holders.resource,
            COALESCE(resource_holders.key, ''::text) AS key,
            resource_holders.queue,
            sum(resource_holders.held_units) AS held,
            sum(resource_holders.wanted_units) AS wanted
           FROM report.resource_holders
          GROUP BY resource_holders.resource, COALESCE(resource_holders.key, ''::text), resource_holders.queue
        ), keys AS (
         SELECT r_1.name,
            ''::text AS key
           FROM in_force r_1
          WHERE (NOT r_1.keyed)
        UNION
         SELECT r_1.name,
            k_1.key
           FROM (in_force r_1
             JOIN ( SELECT units.resource,
                    units.key
                   FROM units
                UNION
                 SELECT resource_capacities.name,
                    resource_capacities.key
                   FROM public.resource_capacities
                UNION
                 SELECT split_part(resource_external.name, ':'::text, 1) AS split_part,
                    substr(resource_external.name, (strpos(resource_external.name, ':'::text) + 1)) AS substr
                   FROM public.resource_external
                  WHERE (strpos(resource_external.name, ':'::text) > 0)) k_1 ON ((k_1.resource = r_1.name)))
          WHERE (r_1.keyed AND (k_1.key <> ''::text))
        )
 SELECT r.name AS resource,
    NULLIF(k.key, ''::text) AS key,
    q.name AS queue,
    COALESCE(live.capacity, r.capacity) AS capacity,
    r.capacity AS file_capacity,
    live.set_at AS capacity_set_at,
    (COALESCE(u.held, (0)::numeric))::bigint AS held_units,
    (COALESCE(w.wanted, (0)::numeric))::bigint AS wanted_units,
    x.total AS external_total,
    x.used AS external_used,
    x.reported_at AS external_at,
    (x.reported_at > (now() - r.external_expires)) AS external_counts
   FROM ((((((in_force r
     JOIN keys k USING (name))
     LEFT JOIN public.queues q ON ((r.per_queue AND (q.removed_in IS NULL))))
     LEFT JOIN LATERAL ( SELECT c.capacity,
            c.set_at
           FROM public.resource_capacities c
          WHERE ((c.name = r.name) AND (c.key = ANY (ARRAY[k.key, ''::text])) AND (c.queue_id = ANY (ARRAY[COALESCE(q.id, 0), 0])))
          ORDER BY (c.key = k.key) DESC, (c.queue_id = COALESCE(q.id, 0)) DESC
         LIMIT 1) live ON (true))
     LEFT JOIN units u ON (((u.resource = r.name) AND (u.key = k.key) AND (NOT (u.queue IS DISTINCT FROM q.name)))))
     LEFT JOIN ( SELECT units.resource,
            units.key,
            sum(units.wanted) AS wanted
           FROM units
          GROUP BY units.resource, units.key) w ON (((w.resource = r.name) AND (w.key = k.key))))
     LEFT JOIN public.resource_external x ON (((x.name = (r.name ||
        CASE
            WHEN (k.key = ''::text) THEN ''::text
            ELSE (':'::text || k.key)
        END)) AND (x.queue_id = COALESCE(q.id, 0)))));

COMMENT ON VIEW report.resources IS 'The resources of the site in force: one row a resource, of one per queue a row a queue, of a keyed family a row each key that is in use.';

COMMENT ON COLUMN report.resources.resource IS 'Name of the resource.';

COMMENT ON COLUMN report.resources.key IS 'Which of a keyed family, as orders of table:orders; NULL: it is none.';

COMMENT ON COLUMN report.resources.queue IS 'Of a resource per queue: the queue; else NULL.';

COMMENT ON COLUMN report.resources.capacity IS 'Units that may be held at once: what was set with divvy resource set, else what the file says.';

COMMENT ON COLUMN report.resources.file_capacity IS 'What the site file says.';

COMMENT ON COLUMN report.resources.capacity_set_at IS 'When another capacity than the file''s was set; NULL: none is.';

COMMENT ON COLUMN report.resources.held_units IS 'Units that jobs and claims hold now.';

COMMENT ON COLUMN report.resources.wanted_units IS 'Units that ready jobs ask for; of a resource per queue at any queue.';

COMMENT ON COLUMN report.resources.external_total IS 'Units that there are, as last reported from outside; NULL: never.';

COMMENT ON COLUMN report.resources.external_used IS 'Units in use by anybody, ours too, as last reported from outside.';

COMMENT ON COLUMN report.resources.external_at IS 'When that was reported.';

COMMENT ON COLUMN report.resources.external_counts IS 'Whether the report is young enough to count; NULL: there is none.';

CREATE VIEW report.share_fairness AS
 SELECT f.hour,
    f.pool,
    s.path AS share,
    s.leaf,
    f.seconds,
    f.target_seconds AS target_unit_seconds,
    f.held_seconds AS held_unit_seconds,
    f.missed_seconds AS missed_unit_seconds,
    f.starved_seconds,
    f.busy_seconds,
    f.share_id
   FROM (public.fairness_hours f
     LEFT JOIN public.shares s ON ((s.id = f.share_id)));

COMMENT ON VIEW report.share_fairness IS 'What a share was promised and given in an hour, of each pool, by the samples: a row an hour, pool and share. Hours that are over.';

COMMENT ON COLUMN report.share_fairness.hour IS 'Begin of the hour.';

COMMENT ON COLUMN report.share_fairness.pool IS 'Resource group: the queues that are shared out together.';

COMMENT ON COLUMN report.share_fairness.share IS 'Path of the share.';

COMMENT ON COLUMN report.share_fairness.leaf IS 'Leaves hold jobs; inner nodes only divide.';

COMMENT ON COLUMN report.share_fairness.seconds IS 'Seconds of the hour of which there are samples.';

COMMENT ON COLUMN report.share_fairness.target_unit_seconds IS 'What it should have held: units times seconds.';

COMMENT ON COLUMN report.share_fairness.held_unit_seconds IS 'What it held.';

COMMENT ON COLUMN report.share_fairness.missed_unit_seconds IS 'What it held too little while it had ready jobs.';

COMMENT ON COLUMN report.share_fairness.starved_seconds IS 'Seconds in which it had ready jobs and a target of a unit or more, and held nothing while others of its pool did.';

COMMENT ON COLUMN report.share_fairness.busy_seconds IS 'Seconds in which it had ready jobs or held something.';

COMMENT ON COLUMN report.share_fairness.share_id IS 'Stable id of the share, never reused.';

CREATE VIEW report.share_history AS
 SELECT h.at,
    h.pool,
    h.share_id,
    s.path AS share,
    s.leaf,
    (h.target)::numeric(20,3) AS target_units,
    (((h.held)::numeric / 1000.0))::numeric(20,3) AS held_units,
    h.ready AS ready_jobs
   FROM (public.share_samples h
     JOIN public.shares s ON ((s.id = h.share_id)));

COMMENT ON VIEW report.share_history IS 'Samples of target and held of every share, for plots and for what was promised against what was given.';

COMMENT ON COLUMN report.share_history.at IS 'When the sample was taken.';

COMMENT ON COLUMN report.share_history.pool IS 'Resource group: the queues that are shared out together.';

COMMENT ON COLUMN report.share_history.share_id IS 'Stable id of the share.';

COMMENT ON COLUMN report.share_history.share IS 'Path of the share as it is called now.';

COMMENT ON COLUMN report.share_history.leaf IS 'Leaves hold jobs; inner nodes only divide.';

COMMENT ON COLUMN report.share_history.target_units IS 'Units that the share should have held.';

COMMENT ON COLUMN report.share_history.held_units IS 'Units that it held.';

COMMENT ON COLUMN report.share_history.ready_jobs IS 'Jobs that waited for a slot.';

CREATE VIEW report.shares_now AS
 WITH RECURSIVE upwards(share_id, node_id) AS (
         SELECT shares.id,
            shares.id
           FROM public.shares
        UNION ALL
         SELECT u.share_id,
            s_1.parent_id
           FROM (upwards u
             JOIN public.shares s_1 ON ((s_1.id = u.node_id)))
          WHERE (s_1.parent_id IS NOT NULL)
        ), leaves AS (
         SELECT c.share,
            sum(c.waiting) AS waiting,
            sum(c.ready) AS ready,
            sum(c.held) AS held,
            sum(c.held_units) AS held_units
           FROM ( SELECT share_counts.share,
                    0 AS waiting,
                    share_counts.ready,
                    share_counts.held,
                    share_counts.held_units
                   FROM public.share_counts
                UNION ALL
                 SELECT idle_ranges.share,
                    ((idle_ranges.high - idle_ranges.low) + 1),
                    0,
                    0,
                    0
                   FROM public.idle_ranges
                  WHERE (idle_ranges.state <> 'r'::"char")) c
          GROUP BY c.share
        ), sums AS (
         SELECT u.node_id,
            sum(m.waiting) AS waiting,
            sum(m.ready) AS ready,
            sum(m.held) AS held,
            sum(m.held_units) AS held_units
           FROM (leaves m
             JOIN upwards u ON ((u.share_id = m.share)))
          GROUP BY u.node_id
        )
 SELECT s.id AS share_id,
    s.path,
    s.leaf,
    s.weight,
    s.tier,
    (COALESCE(n.waiting, (0)::numeric))::bigint AS waiting_jobs,
    (COALESCE(n.ready, (0)::numeric))::bigint AS ready_jobs,
    (COALESCE(n.held, (0)::numeric))::bigint AS held_jobs,
    ((COALESCE(n.held_units, (0)::numeric) / (1000)::numeric))::numeric(20,3) AS held_units,
    t.target_units,
    t.target_at
   FROM ((public.shares s
     LEFT JOIN sums n ON ((n.node_id = s.id)))
     LEFT JOIN LATERAL ( SELECT (sum(newest.target))::numeric(20,3) AS target_units,
            max(newest.at) AS target_at
           FROM (( SELECT DISTINCT queues.pool
                   FROM public.queues
                  WHERE (queues.removed_in IS NULL)) p
             CROSS JOIN LATERAL ( SELECT share_samples.target,
                    share_samples.at
                   FROM public.share_samples
                  WHERE ((share_samples.share_id = s.id) AND (share_samples.pool = p.pool))
                  ORDER BY share_samples.at DESC
                 LIMIT 1) newest)) t ON (true))
  WHERE (s.removed_in IS NULL);

COMMENT ON VIEW report.shares_now IS 'Every node of the share tree in force, as it stands now; inner nodes have the sums of their leaves.';

COMMENT ON COLUMN report.shares_now.share_id IS 'Stable id of the share, never reused.';

COMMENT ON COLUMN report.shares_now.path IS 'Names from the top down, joined by slashes: Production/MC.';

COMMENT ON COLUMN report.shares_now.leaf IS 'Leaves hold jobs; inner nodes only divide.';

COMMENT ON COLUMN report.shares_now.weight IS 'Weight among its siblings.';

COMMENT ON COLUMN report.shares_now.tier IS 'Lower tiers are filled first.';

COMMENT ON COLUMN report.shares_now.waiting_jobs IS 'Jobs that may not run yet, of paused or held tasks.';

COMMENT ON COLUMN report.shares_now.ready_jobs IS 'Jobs that wait for a slot.';

COMMENT ON COLUMN report.shares_now.held_jobs IS 'Jobs under a lease, from granted to draining.';

COMMENT ON COLUMN report.shares_now.held_units IS 'Units under those leases: cores times the core power of their queues.';

COMMENT ON COLUMN report.shares_now.target_units IS 'Units that the share should hold, of the newest sample, summed over pools; NULL before the first one.';

COMMENT ON COLUMN report.shares_now.target_at IS 'When that sample was taken.';

CREATE VIEW report.task_jobs AS
 SELECT j.id AS job_id,
    b.task_id,
    s.path AS share,
    w.state,
    b.priority,
    COALESCE(h.attempt, r.attempt, (y.attempt + ((NOT (o.state IS DISTINCT FROM 'c'::"char")))::integer), 1) AS attempt,
    (b.max_attempts + ( SELECT (count(*))::integer AS count
           FROM public.history v
          WHERE ((v.job = j.id) AND (v.ended_at >= b.made_at) AND (v.outcome = 'r'::"char")))) AS max_attempts,
    j.idx AS index,
    j.retry_of,
    q.name AS queue,
    h.pilot,
    b.made_at AS created_at,
        CASE
            WHEN (w.state = ANY (ARRAY['finished'::text, 'failed'::text, 'cancelled'::text])) THEN COALESCE(o.at, y.ended_at)
            ELSE NULL::timestamp with time zone
        END AS ended_at
   FROM ((((((((public.job_blocks b
     CROSS JOIN LATERAL ( SELECT i.id,
            i.idx,
            i.first_event,
            i.n_events,
            i.retry_of,
            i.inputs,
            i.claims
           FROM public.jobs i
          WHERE ((i.id >= b.low) AND (i.id <= b.high))
          ORDER BY i.id) j)
     LEFT JOIN public.leases_now h ON ((h.job = j.id)))
     LEFT JOIN LATERAL ( SELECT i.high,
            i.low,
            i.task,
            i.place,
            i.share,
            i.shape,
            i.attempt,
            i.state
           FROM ( SELECT n.high,
                    n.low,
                    n.task,
                    n.place,
                    n.share,
                    n.shape,
                    n.attempt,
                    n.state
                   FROM public.idle_ranges n
                  WHERE (n.high >= j.id)
                  ORDER BY n.high
                 LIMIT 1) i
          WHERE ((i.low <= j.id) AND (h.job IS NULL))) r ON (true))
     LEFT JOIN LATERAL ( SELECT i.low,
            i.high,
            i.task,
            i.nth,
            i.at,
            i.state
           FROM ( SELECT n.low,
                    n.high,
                    n.task,
                    n.nth,
                    n.at,
                    n.state
                   FROM public.over_ranges n
                  WHERE (n.high >= j.id)
                  ORDER BY n.high
                 LIMIT 1) i
          WHERE ((i.low <= j.id) AND (h.job IS NULL) AND (r.high IS NULL))) o ON (true))
     LEFT JOIN LATERAL ( SELECT a.attempt,
            a.share,
            a.state,
            a.ended_at
           FROM public.history a
          WHERE ((a.job = j.id) AND (a.ended_at >= b.made_at) AND (h.job IS NULL) AND (r.high IS NULL))
          ORDER BY a.attempt DESC
         LIMIT 1) y ON (true))
     CROSS JOIN LATERAL ( SELECT
                CASE
                    WHEN (h.job IS NOT NULL) THEN 'leased'::text
                    WHEN (r.state = 'r'::"char") THEN 'ready'::text
                    WHEN (r.state IS NOT NULL) THEN 'waiting'::text
                    WHEN (COALESCE(o.state, y.state) = 'f'::"char") THEN 'finished'::text
                    WHEN (COALESCE(o.state, y.state) = 'x'::"char") THEN 'failed'::text
                    WHEN (COALESCE(o.state, y.state) = 'c'::"char") THEN 'cancelled'::text
                    WHEN (EXISTS ( SELECT
                       FROM public.paused_tasks p
                      WHERE (p.task = b.task_id))) THEN 'waiting'::text
                    WHEN (b.made_at > (( SELECT f.at
                       FROM public.folded f) - '01:00:00'::interval)) THEN 'ready'::text
                    ELSE NULL::text
                END AS state) w)
     LEFT JOIN public.shares s ON ((s.id = COALESCE(h.share, r.share, y.share, b.share_id))))
     LEFT JOIN public.queues q ON ((q.id = h.queue)))
  WHERE (w.state IS NOT NULL);

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

CREATE VIEW report.task_usage AS
 SELECT ((u.day AT TIME ZONE 'UTC'::text))::date AS day,
    u.task AS task_id,
    t.name,
    t.user_name,
    s.path AS share,
    ((u.slot_ms)::numeric * 0.001) AS slot_seconds,
    ((u.unit_ms)::numeric * 0.000001) AS unit_seconds,
    ((((u.finished + u.failed) + u.lost) + u.cancelled) + u.returned) AS jobs,
    u.failed AS failures,
    u.lost,
    u.finished,
    u.cancelled,
    u.returned AS revoked,
    ((u.wasted_slot_ms)::numeric * 0.001) AS wasted_slot_seconds,
    ((u.cpu_ms)::numeric * 0.001) AS cpu_seconds,
    u.share AS share_id
   FROM ((public.task_usage u
     LEFT JOIN public.shares s ON ((s.id = u.share)))
     LEFT JOIN public.tasks t ON ((t.id = u.task)));

COMMENT ON VIEW report.task_usage IS 'What a task used on a day (UTC): a row a day, task and share.';

COMMENT ON COLUMN report.task_usage.day IS 'Day, UTC.';

COMMENT ON COLUMN report.task_usage.task_id IS 'Id of the task.';

COMMENT ON COLUMN report.task_usage.name IS 'Name that the user gave it; not unique.';

COMMENT ON COLUMN report.task_usage.user_name IS 'Whose task it is.';

COMMENT ON COLUMN report.task_usage.share IS 'Path of the share that was charged.';

COMMENT ON COLUMN report.task_usage.slot_seconds IS 'Cores times seconds of its leases within this day.';

COMMENT ON COLUMN report.task_usage.unit_seconds IS 'Units times seconds of its leases within this day.';

COMMENT ON COLUMN report.task_usage.jobs IS 'Attempts that ended on this day, whatever their outcome.';

COMMENT ON COLUMN report.task_usage.failures IS 'Of these, those that failed.';

COMMENT ON COLUMN report.task_usage.lost IS 'Of these, those whose lease ran out.';

COMMENT ON COLUMN report.task_usage.finished IS 'Of these, those that finished.';

COMMENT ON COLUMN report.task_usage.cancelled IS 'Of these, those that nobody wanted any more.';

COMMENT ON COLUMN report.task_usage.revoked IS 'Of these, those whose units were reclaimed.';

COMMENT ON COLUMN report.task_usage.wasted_slot_seconds IS 'Of slot_seconds, those of attempts that failed, were lost or revoked.';

COMMENT ON COLUMN report.task_usage.cpu_seconds IS 'CPU time, as pilots reported, of the attempts that ended on this day.';

COMMENT ON COLUMN report.task_usage.share_id IS 'Stable id of the share, never reused.';

CREATE VIEW report.tasks AS
 SELECT t.id AS task_id,
    t.name,
    t.user_name,
    s.path AS share,
    t.state,
    t.reason,
    t.priority,
    t.attributes,
    t.n_jobs AS total,
    t.n_waiting AS waiting,
    t.n_ready AS ready,
    t.n_leased AS leased,
    t.n_finished AS finished,
    t.n_failed AS failed,
    t.n_cancelled AS cancelled,
    t.created_at,
    t.committed_at,
    t.started_at,
    t.ended_at
   FROM (public.counted_tasks t
     LEFT JOIN public.shares s ON ((s.id = t.share_id)));

COMMENT ON VIEW report.tasks IS 'Every task with its job counts, which are at most a second or two behind.';

COMMENT ON COLUMN report.tasks.task_id IS 'Id of the task.';

COMMENT ON COLUMN report.tasks.name IS 'Name that the user gave it; not unique.';

COMMENT ON COLUMN report.tasks.user_name IS 'Whose task it is.';

COMMENT ON COLUMN report.tasks.share IS 'Path of the share that pays; NULL while none is decided.';

COMMENT ON COLUMN report.tasks.state IS 'submitting waiting ready scouting running paused throttled exhausted finishing; in the end done finished failed aborted.';

COMMENT ON COLUMN report.tasks.reason IS 'Why it is in that state, where there is something to say.';

COMMENT ON COLUMN report.tasks.priority IS 'Within its share, higher goes first.';

COMMENT ON COLUMN report.tasks.attributes IS 'What tagging rules look at: label, working_group, campaign, …';

COMMENT ON COLUMN report.tasks.total IS 'Jobs that the task has by now: made and still to make, retries too.';

COMMENT ON COLUMN report.tasks.waiting IS 'Jobs that may not run yet.';

COMMENT ON COLUMN report.tasks.ready IS 'Jobs that wait for a slot.';

COMMENT ON COLUMN report.tasks.leased IS 'Jobs that a pilot has.';

COMMENT ON COLUMN report.tasks.finished IS 'Jobs that ended well.';

COMMENT ON COLUMN report.tasks.failed IS 'Jobs whose attempts are used up.';

COMMENT ON COLUMN report.tasks.cancelled IS 'Jobs that nobody wanted any more.';

COMMENT ON COLUMN report.tasks.created_at IS 'When its submission began.';

COMMENT ON COLUMN report.tasks.committed_at IS 'When its submission was complete; NULL before.';

COMMENT ON COLUMN report.tasks.started_at IS 'When its first job was leased; NULL before.';

COMMENT ON COLUMN report.tasks.ended_at IS 'When it reached its final state; NULL before.';

CREATE VIEW report.usage_daily AS
 SELECT ((u.day AT TIME ZONE 'UTC'::text))::date AS day,
    s.path AS share,
    q.name AS queue,
    NULLIF(u.user_name, ''::text) AS user_name,
    ((u.slot_ms)::numeric * 0.001) AS slot_seconds,
    ((u.unit_ms)::numeric * 0.000001) AS unit_seconds,
    ((((u.finished + u.failed) + u.lost) + u.cancelled) + u.returned) AS jobs,
    u.failed AS failures,
    u.lost,
    u.finished,
    u.cancelled,
    u.returned AS revoked,
    ((u.wasted_slot_ms)::numeric * 0.001) AS wasted_slot_seconds,
    ((u.cpu_ms)::numeric * 0.001) AS cpu_seconds,
    u.share AS share_id
   FROM ((public.day_usage u
     LEFT JOIN public.shares s ON ((s.id = u.share)))
     LEFT JOIN public.queues q ON ((q.id = u.queue)));

COMMENT ON VIEW report.usage_daily IS 'report.usage_hourly by the day (UTC): a row a day, share, queue and user.';

COMMENT ON COLUMN report.usage_daily.day IS 'Day, UTC.';

COMMENT ON COLUMN report.usage_daily.share IS 'Path of the share that was charged.';

COMMENT ON COLUMN report.usage_daily.queue IS 'Queue where it was used.';

COMMENT ON COLUMN report.usage_daily.user_name IS 'Whose tasks used it.';

COMMENT ON COLUMN report.usage_daily.slot_seconds IS 'Cores times seconds of the leases within this day.';

COMMENT ON COLUMN report.usage_daily.unit_seconds IS 'Units times seconds of the leases within this day.';

COMMENT ON COLUMN report.usage_daily.jobs IS 'Attempts that ended on this day, whatever their outcome.';

COMMENT ON COLUMN report.usage_daily.failures IS 'Of these, those that failed.';

COMMENT ON COLUMN report.usage_daily.lost IS 'Of these, those whose lease ran out.';

COMMENT ON COLUMN report.usage_daily.finished IS 'Of these, those that finished.';

COMMENT ON COLUMN report.usage_daily.cancelled IS 'Of these, those that nobody wanted any more.';

COMMENT ON COLUMN report.usage_daily.revoked IS 'Of these, those whose units were reclaimed.';

COMMENT ON COLUMN report.usage_daily.wasted_slot_seconds IS 'Of slot_seconds, those of attempts that failed, were lost or revoked.';

COMMENT ON COLUMN report.usage_daily.cpu_seconds IS 'CPU time, as pilots reported, of the attempts that ended on this day.';

COMMENT ON COLUMN report.usage_daily.share_id IS 'Stable id of the share, never reused.';

CREATE VIEW report.usage_hourly AS
 SELECT u.hour,
    s.path AS share,
    q.name AS queue,
    NULLIF(u.user_name, ''::text) AS user_name,
    ((u.slot_ms)::numeric * 0.001) AS slot_seconds,
    ((u.unit_ms)::numeric * 0.000001) AS unit_seconds,
    ((((u.finished + u.failed) + u.lost) + u.cancelled) + u.returned) AS jobs,
    u.failed AS failures,
    u.lost,
    u.finished,
    u.cancelled,
    u.returned AS revoked,
    ((u.wasted_slot_ms)::numeric * 0.001) AS wasted_slot_seconds,
    ((u.cpu_ms)::numeric * 0.001) AS cpu_seconds,
    u.share AS share_id
   FROM ((public.hour_usage u
     LEFT JOIN public.shares s ON ((s.id = u.share)))
     LEFT JOIN public.queues q ON ((q.id = u.queue)));

COMMENT ON VIEW report.usage_hourly IS 'What ended attempts cost, by the hour in which it was used: a row an hour, share, queue and user. A lease that still runs is not in it yet: see report.leases.';

COMMENT ON COLUMN report.usage_hourly.hour IS 'Begin of the hour.';

COMMENT ON COLUMN report.usage_hourly.share IS 'Path of the share that was charged.';

COMMENT ON COLUMN report.usage_hourly.queue IS 'Queue where it was used.';

COMMENT ON COLUMN report.usage_hourly.user_name IS 'Whose tasks used it.';

COMMENT ON COLUMN report.usage_hourly.slot_seconds IS 'Cores times seconds of the leases within this hour.';

COMMENT ON COLUMN report.usage_hourly.unit_seconds IS 'Units times seconds of the leases within this hour.';

COMMENT ON COLUMN report.usage_hourly.jobs IS 'Attempts that ended in this hour, whatever their outcome.';

COMMENT ON COLUMN report.usage_hourly.failures IS 'Of these, those that failed.';

COMMENT ON COLUMN report.usage_hourly.lost IS 'Of these, those whose lease ran out.';

COMMENT ON COLUMN report.usage_hourly.finished IS 'Of jobs, those that finished.';

COMMENT ON COLUMN report.usage_hourly.cancelled IS 'Of jobs, those that nobody wanted any more.';

COMMENT ON COLUMN report.usage_hourly.revoked IS 'Of jobs, those whose units were reclaimed.';

COMMENT ON COLUMN report.usage_hourly.wasted_slot_seconds IS 'Of slot_seconds, those of attempts that failed, were lost or revoked.';

COMMENT ON COLUMN report.usage_hourly.cpu_seconds IS 'CPU time, as pilots reported, of the attempts that ended in this hour.';

COMMENT ON COLUMN report.usage_hourly.share_id IS 'Stable id of the share, never reused.';

CREATE VIEW report.user_waits AS
 SELECT w.hour,
    w.user_name,
    COALESCE((public.divvy_wait_bounds())[w.bucket], (0)::double precision) AS from_seconds,
    (public.divvy_wait_bounds())[(w.bucket + 1)] AS to_seconds,
    w.jobs,
    w.wait_seconds
   FROM public.user_wait_hours w;

COMMENT ON VIEW report.user_waits IS 'How long jobs waited from the submission of their task to their first claim: a row an hour, user and span of waits.';

COMMENT ON COLUMN report.user_waits.hour IS 'Begin of the hour in which they were claimed first. They are known when the first attempt is over.';

COMMENT ON COLUMN report.user_waits.user_name IS 'Whose tasks they were.';

COMMENT ON COLUMN report.user_waits.from_seconds IS 'They waited so long at least.';

COMMENT ON COLUMN report.user_waits.to_seconds IS 'They waited less than this; NULL: no bound.';

COMMENT ON COLUMN report.user_waits.jobs IS 'So many of them; those that try a piece again are not among them.';

COMMENT ON COLUMN report.user_waits.wait_seconds IS 'Sum of their waits.';

CREATE VIEW report.version_shares AS
 SELECT v.version,
    k.key AS share,
    (k.value)::integer AS share_id
   FROM (public.site_versions v
     CROSS JOIN LATERAL jsonb_each_text(v.share_ids) k(key, value));

COMMENT ON VIEW report.version_shares IS 'The share tree of every version: a row a version and node.';

COMMENT ON COLUMN report.version_shares.version IS 'Number of the version.';

COMMENT ON COLUMN report.version_shares.share IS 'Path of the node as this version has it.';

COMMENT ON COLUMN report.version_shares.share_id IS 'Stable id of the share, never reused.';

CREATE VIEW report.versions AS
 SELECT v.version,
    v.applied_at,
    v.applied_by,
    v.note,
    v.rollback_of,
    ( SELECT count(*) AS count
           FROM jsonb_object_keys(v.share_ids) jsonb_object_keys(jsonb_object_keys)) AS shares,
    ( SELECT count(*) AS count
           FROM jsonb_object_keys(v.queue_ids) jsonb_object_keys(jsonb_object_keys)) AS queues,
    lead(v.applied_at) OVER (ORDER BY v.version) AS replaced_at
   FROM public.site_versions v;

COMMENT ON VIEW report.versions IS 'Every version of the site file; the largest is in force.';

COMMENT ON COLUMN report.versions.version IS 'Number.';

COMMENT ON COLUMN report.versions.applied_at IS 'Since when it is in force.';

COMMENT ON COLUMN report.versions.applied_by IS 'Who applied it.';

COMMENT ON COLUMN report.versions.note IS 'The note that was given with it.';

COMMENT ON COLUMN report.versions.rollback_of IS 'Version that it brought back; NULL: it is no rollback.';

COMMENT ON COLUMN report.versions.shares IS 'Nodes of its tree.';

COMMENT ON COLUMN report.versions.queues IS 'Its queues.';

COMMENT ON COLUMN report.versions.replaced_at IS 'Until when it was in force; NULL: it is.';

CREATE VIEW report.waits AS
 SELECT w.hour,
    s.path AS share,
    q.name AS queue,
    COALESCE((public.divvy_wait_bounds())[w.bucket], (0)::double precision) AS from_seconds,
    (public.divvy_wait_bounds())[(w.bucket + 1)] AS to_seconds,
    w.jobs,
    w.wait_seconds
   FROM ((public.wait_hours w
     LEFT JOIN public.shares s ON ((s.id = w.share_id)))
     LEFT JOIN public.queues q ON ((q.id = w.queue_id)));

COMMENT ON VIEW report.waits IS 'How long jobs waited from the submission of their task to their first claim: a row an hour, share, queue and span of waits.';

COMMENT ON COLUMN report.waits.hour IS 'Begin of the hour in which they were claimed first. They are known when the first attempt is over.';

COMMENT ON COLUMN report.waits.share IS 'Path of the share that the attempt ended under.';

COMMENT ON COLUMN report.waits.queue IS 'Queue where they were claimed.';

COMMENT ON COLUMN report.waits.from_seconds IS 'They waited so long at least.';

COMMENT ON COLUMN report.waits.to_seconds IS 'They waited less than this; NULL: no bound.';

COMMENT ON COLUMN report.waits.jobs IS 'So many of them; those that try a piece again are not among them.';

COMMENT ON COLUMN report.waits.wait_seconds IS 'Sum of their waits.';

ALTER TABLE ONLY public.attempt_texts
    ADD CONSTRAINT attempt_texts_pkey PRIMARY KEY (job_id, attempt, ended_on);

ALTER TABLE ONLY public.audit
    ADD CONSTRAINT audit_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.batches
    ADD CONSTRAINT batches_pkey PRIMARY KEY (seq);

ALTER TABLE ONLY public.black_holes
    ADD CONSTRAINT black_holes_pkey PRIMARY KEY (queue_id);

ALTER TABLE ONLY public.claim_jobs
    ADD CONSTRAINT claim_jobs_pkey PRIMARY KEY (low);

ALTER TABLE ONLY public.claim_keys
    ADD CONSTRAINT claim_keys_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.claim_keys
    ADD CONSTRAINT claim_keys_task_id_key_key UNIQUE (task_id, key);

ALTER TABLE ONLY public.claim_parties
    ADD CONSTRAINT claim_parties_pkey PRIMARY KEY (nth);

ALTER TABLE ONLY public.claims
    ADD CONSTRAINT claims_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.daemons
    ADD CONSTRAINT daemons_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.day_usage
    ADD CONSTRAINT day_usage_pkey PRIMARY KEY (day, share, queue, user_name);

ALTER TABLE ONLY public.end_counts
    ADD CONSTRAINT end_counts_pkey PRIMARY KEY (hour, share, shape, queue, outcome, state);

ALTER TABLE ONLY public.expected
    ADD CONSTRAINT expected_pkey PRIMARY KEY (share, shape);

ALTER TABLE ONLY public.fairness_hours
    ADD CONSTRAINT fairness_hours_pkey PRIMARY KEY (hour, pool, share_id);

ALTER TABLE ONLY public.folded
    ADD CONSTRAINT folded_pkey PRIMARY KEY (only_row);

ALTER TABLE ONLY public.generations
    ADD CONSTRAINT generations_pkey PRIMARY KEY (share_id);

ALTER TABLE ONLY public.halves
    ADD CONSTRAINT halves_pkey PRIMARY KEY (task_id, idx);

ALTER TABLE ONLY public.harvester_commands
    ADD CONSTRAINT harvester_commands_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.harvester_dialogs
    ADD CONSTRAINT harvester_dialogs_pkey PRIMARY KEY (harvester_id, diag_id);

ALTER TABLE ONLY public.harvester_metrics
    ADD CONSTRAINT harvester_metrics_pkey PRIMARY KEY (harvester_id, host, at);

ALTER TABLE ONLY public.harvester_worker_stats
    ADD CONSTRAINT harvester_worker_stats_pkey PRIMARY KEY (harvester_id, queue, job_type, resource_type, status);

ALTER TABLE ONLY public.harvester_workers
    ADD CONSTRAINT harvester_workers_pkey PRIMARY KEY (harvester_id, worker_id);

ALTER TABLE ONLY public.harvesters
    ADD CONSTRAINT harvesters_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.held
    ADD CONSTRAINT held_pkey PRIMARY KEY (job);

ALTER TABLE ONLY public.hour_usage
    ADD CONSTRAINT hour_usage_pkey PRIMARY KEY (hour, share, queue, user_name);

ALTER TABLE ONLY public.idle_ranges
    ADD CONSTRAINT idle_ranges_pkey PRIMARY KEY (high);

ALTER TABLE ONLY public.inputs
    ADD CONSTRAINT inputs_pkey PRIMARY KEY (task_id, "position");

ALTER TABLE ONLY public.job_blocks
    ADD CONSTRAINT job_blocks_pkey PRIMARY KEY (low);

ALTER TABLE ONLY public.jobs
    ADD CONSTRAINT jobs_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.judged
    ADD CONSTRAINT judged_pkey PRIMARY KEY (only_row);

ALTER TABLE ONLY public.judgements
    ADD CONSTRAINT judgements_pkey PRIMARY KEY (job_id, attempt);

ALTER TABLE ONLY public.kills
    ADD CONSTRAINT kills_pkey PRIMARY KEY (task, nth);

ALTER TABLE ONLY public.latest
    ADD CONSTRAINT latest_pkey PRIMARY KEY (kind, key, name);

ALTER TABLE ONLY public.lease_reports
    ADD CONSTRAINT lease_reports_pkey PRIMARY KEY (job_id);

ALTER TABLE ONLY public.lineage
    ADD CONSTRAINT lineage_pkey PRIMARY KEY (only_row);

ALTER TABLE ONLY public.lots
    ADD CONSTRAINT lots_pkey PRIMARY KEY (task_id, lot);

ALTER TABLE ONLY public.moves
    ADD CONSTRAINT moves_pkey PRIMARY KEY (task, nth);

ALTER TABLE ONLY public.need_pieces
    ADD CONSTRAINT need_pieces_pkey PRIMARY KEY (task_id, place, chunk);

ALTER TABLE ONLY public.node_usage
    ADD CONSTRAINT node_usage_pkey PRIMARY KEY (day, queue, node);

ALTER TABLE ONLY public.outbox
    ADD CONSTRAINT outbox_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.over_ranges
    ADD CONSTRAINT over_ranges_pkey PRIMARY KEY (high);

ALTER TABLE ONLY public.paused_tasks
    ADD CONSTRAINT paused_tasks_pkey PRIMARY KEY (task);

ALTER TABLE ONLY public.payloads
    ADD CONSTRAINT payloads_pkey PRIMARY KEY (task_id);

ALTER TABLE ONLY public.placings
    ADD CONSTRAINT placings_pkey PRIMARY KEY (share_id);

ALTER TABLE ONLY public.queues
    ADD CONSTRAINT queues_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.reclaims
    ADD CONSTRAINT reclaims_pkey PRIMARY KEY (job_id, attempt);

ALTER TABLE ONLY public.released_pieces
    ADD CONSTRAINT released_pieces_pkey PRIMARY KEY (task_id, "position");

ALTER TABLE ONLY public.replay_checkpoints
    ADD CONSTRAINT replay_checkpoints_pkey PRIMARY KEY (seq);

ALTER TABLE ONLY public.resource_capacities
    ADD CONSTRAINT resource_capacities_pkey PRIMARY KEY (name, key, queue_id);

ALTER TABLE ONLY public.resource_external
    ADD CONSTRAINT resource_external_pkey PRIMARY KEY (name, queue_id);

ALTER TABLE ONLY public.retries
    ADD CONSTRAINT retries_pkey PRIMARY KEY (job_id);

ALTER TABLE ONLY public.rolled
    ADD CONSTRAINT rolled_pkey PRIMARY KEY (only_row);

ALTER TABLE ONLY public.sandboxes
    ADD CONSTRAINT sandboxes_pkey PRIMARY KEY (name);

ALTER TABLE ONLY public.scaled_away
    ADD CONSTRAINT scaled_away_pkey PRIMARY KEY (task_id, low);

ALTER TABLE ONLY public.settled
    ADD CONSTRAINT settled_pkey PRIMARY KEY (only_row);

ALTER TABLE ONLY public.shapes
    ADD CONSTRAINT shapes_key_key UNIQUE (key);

ALTER TABLE ONLY public.shapes
    ADD CONSTRAINT shapes_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.share_counts
    ADD CONSTRAINT share_counts_pkey PRIMARY KEY (share, shape, queue);

ALTER TABLE ONLY public.share_samples
    ADD CONSTRAINT share_samples_pkey PRIMARY KEY (share_id, pool, at);

ALTER TABLE ONLY public.shares
    ADD CONSTRAINT shares_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.site_later
    ADD CONSTRAINT site_later_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.site_resources
    ADD CONSTRAINT site_resources_pkey PRIMARY KEY (version, name);

ALTER TABLE ONLY public.site_versions
    ADD CONSTRAINT site_versions_pkey PRIMARY KEY (version);

ALTER TABLE ONLY public.splittings
    ADD CONSTRAINT splittings_pkey PRIMARY KEY (job_id);

ALTER TABLE ONLY public.steps
    ADD CONSTRAINT steps_pkey PRIMARY KEY (seq);

ALTER TABLE ONLY public.tag_rules
    ADD CONSTRAINT tag_rules_pkey PRIMARY KEY (version, "position");

ALTER TABLE ONLY public.target_slots
    ADD CONSTRAINT target_slots_pkey PRIMARY KEY (queue, share_id, class, floor);

ALTER TABLE ONLY public.task_counts
    ADD CONSTRAINT task_counts_pkey PRIMARY KEY (task);

ALTER TABLE ONLY public.task_deadlines
    ADD CONSTRAINT task_deadlines_pkey PRIMARY KEY (task_id);

ALTER TABLE ONLY public.task_needs
    ADD CONSTRAINT task_needs_pkey PRIMARY KEY (task_id, place);

ALTER TABLE ONLY public.task_needs
    ADD CONSTRAINT task_needs_task_id_needs_id_key UNIQUE (task_id, needs_id);

ALTER TABLE ONLY public.task_usage
    ADD CONSTRAINT task_usage_pkey PRIMARY KEY (day, task, share);

ALTER TABLE ONLY public.tasks
    ADD CONSTRAINT tasks_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.tokens
    ADD CONSTRAINT tokens_hash UNIQUE (hash);

ALTER TABLE ONLY public.tokens
    ADD CONSTRAINT tokens_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.tokens
    ADD CONSTRAINT tokens_prefix UNIQUE (prefix);

ALTER TABLE ONLY public.user_wait_hours
    ADD CONSTRAINT user_wait_hours_pkey PRIMARY KEY (hour, user_name, bucket);

ALTER TABLE ONLY public.wait_hours
    ADD CONSTRAINT wait_hours_pkey PRIMARY KEY (hour, share_id, queue_id, bucket);

ALTER TABLE ONLY public.waited
    ADD CONSTRAINT waited_pkey PRIMARY KEY (only_row);

ALTER TABLE ONLY public.webhook_messages
    ADD CONSTRAINT webhook_messages_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.webhooks
    ADD CONSTRAINT webhooks_pkey PRIMARY KEY (name);

COMMENT ON INDEX public.attempt_texts_pkey IS 'The texts of an attempt.';

COMMENT ON INDEX public.batches_pkey IS 'Append, reads from a seq on. An entry a batch, not a job.';

COMMENT ON INDEX public.black_holes_pkey IS 'Nearly always empty.';

CREATE INDEX claim_jobs_party ON public.claim_jobs USING btree (party);

COMMENT ON INDEX public.claim_jobs_party IS 'The jobs of a party.';

COMMENT ON INDEX public.claim_jobs_pkey IS 'The range of a job: the last one whose low is not above its id.';

CREATE INDEX claim_parties_claims ON public.claim_parties USING gin (claims) WITH (fastupdate=off);

COMMENT ON INDEX public.claim_parties_claims IS 'Those that hold a claim.';

COMMENT ON INDEX public.claim_parties_pkey IS 'The party of a job, by way of claim_jobs.';

CREATE INDEX claims_due ON public.claims USING btree (look_at) WHERE (look_at IS NOT NULL);

COMMENT ON INDEX public.claims_due IS 'Those whose time may be over with the next tick.';

CREATE INDEX claims_ended ON public.claims USING btree (ended_at) WHERE (ended_at IS NOT NULL);

COMMENT ON INDEX public.claims_ended IS 'Those that are dropped.';

CREATE INDEX claims_live ON public.claims USING btree (id) WHERE (ended_at IS NULL);

COMMENT ON INDEX public.claims_live IS 'Live claims, page by page: those that are over are as many as the days that they are kept for.';

CREATE INDEX claims_missing ON public.claims USING btree (id) WHERE missing;

COMMENT ON INDEX public.claims_missing IS 'Those that another version of the site may have a template for.';

COMMENT ON INDEX public.claims_pkey IS 'Claims of jobs.';

CREATE INDEX claims_task ON public.claims USING btree (task, id);

COMMENT ON INDEX public.claims_task IS 'All claims of a task.';

CREATE INDEX day_usage_day ON public.day_usage USING brin ((((day AT TIME ZONE 'UTC'::text))::date)) WITH (pages_per_range='8');

COMMENT ON INDEX public.day_usage_day IS 'Stretches of days.';

COMMENT ON INDEX public.day_usage_pkey IS 'Target of upserts.';

COMMENT ON INDEX public.end_counts_pkey IS 'Target of the fold''s upserts, which are HOT. A row an hour, kind of job, queue and outcome.';

COMMENT ON INDEX public.fairness_hours_pkey IS 'Stretches of time.';

CREATE INDEX halves_piece ON public.halves USING btree (task_id, piece);

COMMENT ON INDEX public.halves_piece IS 'Tasks whose pieces wait for this one ask whether all of it is over.';

CREATE INDEX harvester_commands_new ON public.harvester_commands USING btree (harvester_id, id) WHERE (status = 'new'::text);

COMMENT ON INDEX public.harvester_commands_new IS 'What a Harvester fetches next; nearly always empty.';

COMMENT ON INDEX public.harvester_commands_pkey IS 'Acknowledgements name ids.';

COMMENT ON INDEX public.harvester_dialogs_pkey IS 'A message that is sent again replaces the one before.';

COMMENT ON INDEX public.harvester_metrics_pkey IS 'The course of a host; figures that are sent twice stand once.';

COMMENT ON INDEX public.harvester_worker_stats_pkey IS 'A report replaces all of a Harvester''s at a queue.';

CREATE INDEX harvester_workers_live ON public.harvester_workers USING btree (queue) WHERE (status <> ALL (ARRAY['finished'::text, 'failed'::text, 'cancelled'::text, 'missed'::text]));

COMMENT ON INDEX public.harvester_workers_live IS 'Workers that are counted: those that are not over.';

COMMENT ON INDEX public.harvester_workers_pkey IS 'Updates of a worker; the highest id of a Harvester.';

COMMENT ON INDEX public.held_pkey IS 'By job: ends, lists of leases.';

CREATE INDEX history_ended ON ONLY public.history USING brin (ended_at) WITH (pages_per_range='32');

COMMENT ON INDEX public.history_ended IS 'Reports on a stretch of a day.';

CREATE INDEX history_job ON ONLY public.history USING btree (job);

COMMENT ON INDEX public.history_job IS 'The attempts of a job; those of a task, whose jobs are ranges of ids; ends that are said twice. 80 bytes of WAL an attempt, 40 of disk.';

CREATE INDEX history_waits ON ONLY public.history USING btree (ended_at, job) WHERE (state = 'w'::"char");

COMMENT ON INDEX public.history_waits IS 'The attempts after which jobs waited, in the order in which they are judged.';

COMMENT ON INDEX public.hour_usage_pkey IS 'Target of upserts, stretches of time.';

COMMENT ON INDEX public.idle_ranges_pkey IS 'The range of a job: the first one whose high is not below its id. Updates of low are HOT.';

COMMENT ON INDEX public.inputs_pkey IS 'The inputs of a piece. An entry a thousand inputs.';

COMMENT ON INDEX public.job_blocks_pkey IS 'The block of a job: the last one whose low is not above its id.';

CREATE INDEX job_blocks_share ON ONLY public.job_blocks USING btree (share_id, low);

COMMENT ON INDEX public.job_blocks_share IS 'For the moves of a share, and for places that its aging makes anew.';

CREATE INDEX job_blocks_task ON ONLY public.job_blocks USING btree (task_id, low);

COMMENT ON INDEX public.job_blocks_task IS 'The jobs of a task.';

COMMENT ON INDEX public.jobs_pkey IS 'By id: grants, lists. 22 bytes a job: ids grow.';

COMMENT ON INDEX public.kills_pkey IS 'Those of a task, in the order of the log.';

COMMENT ON INDEX public.lease_reports_pkey IS 'By job: renewals that bring a report, and ends.';

COMMENT ON INDEX public.moves_pkey IS 'Those of a task, in the order of the log.';

CREATE INDEX node_usage_day ON public.node_usage USING brin ((((day AT TIME ZONE 'UTC'::text))::date)) WITH (pages_per_range='8');

COMMENT ON INDEX public.node_usage_day IS 'Stretches of days.';

COMMENT ON INDEX public.node_usage_pkey IS 'Target of upserts.';

COMMENT ON INDEX public.outbox_pkey IS 'The order in which rows are taken. Nearly always empty.';

CREATE INDEX over_ranges_at ON public.over_ranges USING brin (at);

COMMENT ON INDEX public.over_ranges_at IS 'Old ones, which are dropped.';

COMMENT ON INDEX public.over_ranges_pkey IS 'The range of a job, as of idle_ranges.';

CREATE INDEX payload_logs_job ON ONLY public.payload_logs USING btree (job_id, attempt);

COMMENT ON INDEX public.payload_logs_job IS 'By job: job logs, and whether an attempt has a row already.';

CREATE UNIQUE INDEX queues_name ON public.queues USING btree (name) WHERE (removed_in IS NULL);

CREATE INDEX reclaims_open ON public.reclaims USING btree (job_id) WHERE (closed_at IS NULL);

COMMENT ON INDEX public.reclaims_open IS 'What is not settled yet; mostly empty.';

CREATE INDEX reclaims_ordered ON public.reclaims USING btree (ordered_at);

COMMENT ON INDEX public.reclaims_ordered IS 'Orders of the last minutes, for the rate; of more than a week ago, to drop them.';

COMMENT ON INDEX public.resource_capacities_pkey IS 'Set again, it replaces what was set. A few rows.';

COMMENT ON INDEX public.resource_external_pkey IS 'A report replaces the one before.';

CREATE INDEX retries_due ON public.retries USING btree (due_at, job_id);

COMMENT ON INDEX public.retries_due IS 'The jobs whose time comes next.';

COMMENT ON INDEX public.retries_pkey IS 'Whether a job waits here, and until when.';

CREATE INDEX sandboxes_same ON public.sandboxes USING btree (owner, size, checksum);

COMMENT ON INDEX public.sandboxes_same IS 'What an owner has of a size and checksum.';

CREATE INDEX sandboxes_used ON public.sandboxes USING btree (used_at);

COMMENT ON INDEX public.sandboxes_used IS 'The longest unused first.';

COMMENT ON INDEX public.share_counts_pkey IS 'Target of the upserts of folds, which are HOT.';

COMMENT ON INDEX public.share_samples_pkey IS 'The newest sample of a share, and its course.';

CREATE UNIQUE INDEX shares_path ON public.shares USING btree (path) WHERE (removed_in IS NULL);

CREATE INDEX site_later_due ON public.site_later USING btree (effective_at, id) WHERE (state = 'waiting'::text);

COMMENT ON INDEX public.site_resources_pkey IS 'Resources of a version, and one by its name.';

COMMENT ON INDEX public.steps_pkey IS 'For whoever follows the tasks.';

COMMENT ON INDEX public.target_slots_pkey IS 'Said again, it replaces what was said. A few rows a queue.';

COMMENT ON INDEX public.task_counts_pkey IS 'Target of the upserts of folds, which are HOT.';

CREATE INDEX task_deadlines_live ON public.task_deadlines USING btree (COALESCE(seen_at, '-infinity'::timestamp with time zone)) WHERE (NOT over);

CREATE INDEX task_needs_needed ON public.task_needs USING btree (needs_id, task_id);

CREATE INDEX task_needs_open ON public.task_needs USING btree (task_id, place) WHERE (state = 'open'::text);

CREATE INDEX task_usage_day ON public.task_usage USING brin ((((day AT TIME ZONE 'UTC'::text))::date)) WITH (pages_per_range='8');

COMMENT ON INDEX public.task_usage_day IS 'Stretches of days.';

COMMENT ON INDEX public.task_usage_pkey IS 'Target of upserts.';

CREATE INDEX task_usage_task ON public.task_usage USING btree (task);

COMMENT ON INDEX public.task_usage_task IS 'What a task has used. An entry a day and task: updates do not touch it.';

CREATE INDEX tasks_created ON public.tasks USING brin (created_at) WITH (pages_per_range='32', autosummarize='on');

COMMENT ON INDEX public.tasks_created IS 'Tasks of a stretch of time: rules rehearsed on the past. BRIN: 136 kB for 600,000 tasks of 60 days; of seven of them it reads 12 % of the pages.';

CREATE UNIQUE INDEX tasks_idempotency ON public.tasks USING btree (idempotency_key) WHERE (idempotency_key IS NOT NULL);

COMMENT ON INDEX public.tasks_idempotency IS 'A submission that is repeated finds its task. Tasks without a key are not in it.';

CREATE INDEX tasks_live ON public.tasks USING btree (id) WHERE (ended_at IS NULL);

COMMENT ON INDEX public.tasks_live IS 'Tasks that are not over: generator and lists pass over all the others.';

CREATE INDEX tasks_lots ON public.tasks USING btree (id) WHERE ((lots IS NOT NULL) AND (ended_at IS NULL));

COMMENT ON INDEX public.tasks_lots IS 'Live tasks whose pieces are cut from lots: readings of what shares have go by it.';

CREATE INDEX tasks_over ON public.tasks USING btree (id) WHERE (ended_at IS NOT NULL);

COMMENT ON INDEX public.tasks_over IS 'The newest tasks that are over, however many newer ones are not. One entry when a task ends, 22 MB a million.';

CREATE INDEX tasks_pieces_left ON public.tasks USING btree (share_id, priority DESC, id) WHERE ((n_generated < n_jobs) AND (state = ANY (ARRAY['ready'::text, 'scouting'::text, 'running'::text])));

COMMENT ON INDEX public.tasks_pieces_left IS 'What a generator takes next: tasks of a share with pieces left, best priority first. n_generated is in its predicate, so an update by generation is not HOT: 4.6 times the CPU, 3.5 times the WAL, once a task and batch.';

COMMENT ON INDEX public.tasks_pkey IS 'By id.';

CREATE INDEX tasks_quota ON public.tasks USING btree (id) WHERE ((quota IS NOT NULL) AND (ended_at IS NULL));

COMMENT ON INDEX public.tasks_quota IS 'Live tasks that a limit or max_running concerns, or a limit did.';

CREATE INDEX tasks_scouting ON public.tasks USING btree (id) WHERE ((scouts IS NOT NULL) AND (scouted IS NULL) AND (ended_at IS NULL));

COMMENT ON INDEX public.tasks_scouting IS 'Tasks whose scouts are looked at, twice a second; nearly always few.';

CREATE INDEX tasks_untagged ON public.tasks USING btree (id) WHERE ((state = 'waiting'::text) AND (share_id IS NULL));

COMMENT ON INDEX public.tasks_untagged IS 'Tasks that wait for a rule, apart from those that wait for tasks; nearly always empty.';

CREATE INDEX tasks_user ON public.tasks USING btree (user_name, id);

COMMENT ON INDEX public.tasks_user IS 'Lists of a user''s tasks.';

CREATE INDEX tasks_user_live ON public.tasks USING btree (user_name, id) WHERE (ended_at IS NULL);

COMMENT ON INDEX public.tasks_user_live IS 'A user''s tasks that are not over, however many are.';

CREATE INDEX tasks_user_over ON public.tasks USING btree (user_name, id) WHERE (ended_at IS NOT NULL);

COMMENT ON INDEX public.tasks_user_over IS 'The newest of a user''s tasks that are over, however many newer ones are not. One entry when a task ends.';

CREATE INDEX tasks_waiting ON public.tasks USING btree (id) WHERE (state = 'waiting'::text);

COMMENT ON INDEX public.tasks_waiting IS 'Tasks that no rule has matched yet: looked at when the site changes.';

CREATE UNIQUE INDEX tokens_name ON public.tokens USING btree (name) WHERE (revoked_at IS NULL);

COMMENT ON INDEX public.tokens_name IS 'Names differ among those that are not revoked.';

COMMENT ON INDEX public.user_wait_hours_pkey IS 'Target of upserts, stretches of time.';

COMMENT ON INDEX public.wait_hours_pkey IS 'Target of upserts, stretches of time.';

CREATE INDEX webhook_messages_due ON public.webhook_messages USING btree (webhook, due_at) WHERE (NOT over);

COMMENT ON INDEX public.webhook_messages_due IS 'What is to be told next.';

CREATE UNIQUE INDEX webhook_messages_lasting ON public.webhook_messages USING btree (webhook, event, subject) WHERE (event !~~ 'task.%'::text);

COMMENT ON INDEX public.webhook_messages_lasting IS 'What lasts is one message.';

CREATE TRIGGER task_ended AFTER UPDATE OF ended_at ON public.tasks FOR EACH ROW WHEN (((old.ended_at IS NULL) AND (new.ended_at IS NOT NULL))) EXECUTE FUNCTION public.divvy_task_ended();

ALTER TABLE ONLY public.generations
    ADD CONSTRAINT generations_share_id_fkey FOREIGN KEY (share_id) REFERENCES public.shares(id);

ALTER TABLE ONLY public.queues
    ADD CONSTRAINT queues_removed_in_fkey FOREIGN KEY (removed_in) REFERENCES public.site_versions(version);

ALTER TABLE ONLY public.shares
    ADD CONSTRAINT shares_parent_id_fkey FOREIGN KEY (parent_id) REFERENCES public.shares(id);

ALTER TABLE ONLY public.shares
    ADD CONSTRAINT shares_removed_in_fkey FOREIGN KEY (removed_in) REFERENCES public.site_versions(version);

ALTER TABLE ONLY public.site_later
    ADD CONSTRAINT site_later_version_fkey FOREIGN KEY (version) REFERENCES public.site_versions(version);

ALTER TABLE ONLY public.site_resources
    ADD CONSTRAINT site_resources_version_fkey FOREIGN KEY (version) REFERENCES public.site_versions(version);

ALTER TABLE ONLY public.site_versions
    ADD CONSTRAINT site_versions_rollback_of_fkey FOREIGN KEY (rollback_of) REFERENCES public.site_versions(version);

ALTER TABLE ONLY public.tag_rules
    ADD CONSTRAINT tag_rules_version_fkey FOREIGN KEY (version) REFERENCES public.site_versions(version);

ALTER TABLE ONLY public.tasks
    ADD CONSTRAINT tasks_own_share_id_fkey FOREIGN KEY (own_share_id) REFERENCES public.shares(id);

ALTER TABLE ONLY public.tasks
    ADD CONSTRAINT tasks_share_id_fkey FOREIGN KEY (share_id) REFERENCES public.shares(id);

ALTER TABLE ONLY public.webhook_messages
    ADD CONSTRAINT webhook_messages_webhook_fkey FOREIGN KEY (webhook) REFERENCES public.webhooks(name) ON DELETE CASCADE;

GRANT USAGE ON SCHEMA report TO divvy_reader;

GRANT SELECT ON TABLE report.about TO divvy_reader;

GRANT SELECT ON TABLE report.attempts TO divvy_reader;

GRANT SELECT ON TABLE report.audit TO divvy_reader;

GRANT SELECT ON TABLE report.charges TO divvy_reader;

GRANT SELECT ON TABLE report.deadlines TO divvy_reader;

GRANT SELECT ON TABLE report.decisions TO divvy_reader;

GRANT SELECT ON TABLE report.fairness TO divvy_reader;

GRANT SELECT ON TABLE report.freshness TO divvy_reader;

GRANT SELECT ON TABLE report.jobs TO divvy_reader;

GRANT SELECT ON TABLE report.judgements TO divvy_reader;

GRANT SELECT ON TABLE report.leases TO divvy_reader;

GRANT SELECT ON TABLE report.ledger TO divvy_reader;

GRANT SELECT ON TABLE report.loans TO divvy_reader;

GRANT SELECT ON TABLE report.loans_now TO divvy_reader;

GRANT SELECT ON TABLE report.node_usage TO divvy_reader;

GRANT SELECT ON TABLE report.queue_health TO divvy_reader;

GRANT SELECT ON TABLE report.reclaims TO divvy_reader;

GRANT SELECT ON TABLE report.resource_claims TO divvy_reader;

GRANT SELECT ON TABLE report.resource_holders TO divvy_reader;

GRANT SELECT ON TABLE report.resource_holdings TO divvy_reader;

GRANT SELECT ON TABLE report.resources TO divvy_reader;

GRANT SELECT ON TABLE report.share_fairness TO divvy_reader;

GRANT SELECT ON TABLE report.share_history TO divvy_reader;

GRANT SELECT ON TABLE report.shares_now TO divvy_reader;

GRANT SELECT ON TABLE report.task_jobs TO divvy_reader;

GRANT SELECT ON TABLE report.task_usage TO divvy_reader;

GRANT SELECT ON TABLE report.tasks TO divvy_reader;

GRANT SELECT ON TABLE report.usage_daily TO divvy_reader;

GRANT SELECT ON TABLE report.usage_hourly TO divvy_reader;

GRANT SELECT ON TABLE report.user_waits TO divvy_reader;

GRANT SELECT ON TABLE report.version_shares TO divvy_reader;

GRANT SELECT ON TABLE report.versions TO divvy_reader;

GRANT SELECT ON TABLE report.waits TO divvy_reader;

ALTER DEFAULT PRIVILEGES IN SCHEMA report GRANT SELECT ON TABLES  TO divvy_reader;

