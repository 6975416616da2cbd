-- The schema as PostgreSQL 15 prints it. Written by: go test ./migrations -update
CREATE SCHEMA report;

COMMENT ON SCHEMA report IS 'Stable views for reports and dashboards, described in docs/reporting.md; readable by role divvy_reader.';

CREATE FUNCTION public.displace_job() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    NEW.displaced := true;
    RETURN NEW;
END
$$;

COMMENT ON FUNCTION public.displace_job() IS 'A job that goes to another share, shape, place or state is found by jobs_displaced from then on.';

CREATE FUNCTION public.divvy_attach_day(parent text, day date) RETURNS void
    LANGUAGE plpgsql
    SET lock_timeout TO '200ms'
    SET "TimeZone" TO 'UTC'
    SET search_path TO 'public', 'pg_temp'
    AS $$
DECLARE
    name text := parent || to_char(day, '_YYYYMMDD');
BEGIN
    EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', parent, name, day, day + 1);
    EXECUTE format('ALTER TABLE %I DROP CONSTRAINT of_the_day', name);
END $$;

COMMENT ON FUNCTION public.divvy_attach_day(parent text, day date) IS 'Makes the table of divvy_move_day a partition. It fails where a row of the day is left in the default partition.';

CREATE FUNCTION public.divvy_bind_claims(ids bigint[], ns integer[], queues integer[], nodes text[], taken text[], payers integer[], binds boolean[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'public', 'pg_temp'
    AS $$
DECLARE
    done int;
BEGIN
    PERFORM FROM resource_claims WHERE id = ANY (ids) ORDER BY id FOR UPDATE;
    IF EXISTS (
        SELECT FROM unnest(ids, ns) AS b (id, n)
        JOIN resource_claims c USING (id)
        JOIN claim_gangs g ON g.claim_id = c.id
        WHERE c.sharers = 0 AND c.template @> '{"gang": true}'
            AND (c.state <> 'pending' OR b.n <> (SELECT count(*) FROM jobs j WHERE j.claims @> ARRAY[c.id])
                OR g.made < g.members AND NOT EXISTS (SELECT FROM tasks t WHERE t.id = c.task_id AND t.n_generated >= t.n_jobs))
    ) THEN
        RAISE unique_violation USING MESSAGE = 'a gang starts with all of its jobs only';
    END IF;
    INSERT INTO claim_devices (queue_id, node, device, claim_id)
    SELECT b.queue_id, b.node, d.device, b.id
    FROM unnest(ids, queues, nodes, taken) AS b (id, queue_id, node, devices)
    JOIN resource_claims c ON c.id = b.id AND c.state = 'pending'
    CROSS JOIN LATERAL jsonb_array_elements_text(b.devices::jsonb) AS d (device)
    ORDER BY b.queue_id, b.node, d.device;
    UPDATE resource_claims c SET state = 'bound', queue_id = b.queue_id, node = b.node, devices = b.devices::jsonb,
        share_id = CASE c.state WHEN 'pending' THEN b.share_id ELSE c.share_id END, bound_at = coalesce(c.bound_at, now()),
        sharers = c.sharers + b.n, idle_since = NULL, lost = false, unplaced = c.unplaced OR c.state = 'pending',
        placed_to = CASE c.state WHEN 'pending' THEN 0 ELSE c.placed_to END, changed = pg_current_xact_id()
    FROM unnest(ids, ns, queues, nodes, taken, payers, binds) AS b (id, n, queue_id, node, devices, share_id, binds)
    WHERE c.id = b.id AND (c.charge_id = 0 OR b.binds = (c.state = 'pending'))
        AND (c.state = 'pending'
            OR c.state = 'bound' AND c.queue_id = b.queue_id AND c.node = b.node AND c.devices = b.devices::jsonb)
        AND c.sharers + b.n <= coalesce((c.template->>'max_sharers')::int, c.sharers + b.n);
    GET DIAGNOSTICS done = ROW_COUNT;
    IF done <> cardinality(ids) THEN
        RAISE unique_violation USING MESSAGE = 'a claim is bound elsewhere, or full, or not there any more';
    END IF;
END $$;

COMMENT ON FUNCTION public.divvy_bind_claims(ids bigint[], ns integer[], queues integer[], nodes text[], taken text[], payers integer[], binds boolean[]) IS 'Binds the claims of leases, in the transaction that grants them, with ns[i] more sharers each. It fails when one of them is elsewhere or full, or a device belongs to another. binds[i]: one of the leases is charged for the units of the claim, so that it must not be bound yet.';

CREATE FUNCTION public.divvy_drop_days(parent text, before date) RETURNS integer
    LANGUAGE plpgsql
    SET lock_timeout TO '200ms'
    SET "TimeZone" TO 'UTC'
    SET search_path TO 'public', 'pg_temp'
    AS $_$
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
END $_$;

COMMENT ON FUNCTION public.divvy_drop_days(parent text, before date) IS 'Drops the daily partitions of a table before a date; returns how many. Days of attempts are dropped only up to the first one that is not all in the roll-ups.';

CREATE FUNCTION public.divvy_hold_vacuum(name text, dead bigint, inserted bigint) RETURNS boolean
    LANGUAGE plpgsql
    SET lock_timeout TO '20ms'
    SET search_path TO 'public', 'pg_temp'
    AS $$
BEGIN
    IF dead IS NULL THEN
        EXECUTE format('ALTER TABLE %I RESET (autovacuum_vacuum_threshold, autovacuum_vacuum_insert_threshold)', name);
    ELSE
        EXECUTE format('ALTER TABLE %I SET (autovacuum_vacuum_threshold = %s, autovacuum_vacuum_insert_threshold = %s)', name,
            least(dead, 2000000000), least(inserted, 2000000000));
    END IF;
    RETURN true;
EXCEPTION WHEN lock_not_available THEN
    RETURN false;
END $$;

COMMENT ON FUNCTION public.divvy_hold_vacuum(name text, dead bigint, inserted bigint) IS 'Sets how many dead and inserted rows of a table autovacuum waits for beyond its factors; NULL: as configured. False when somebody, say a vacuum, is at the table: the lock would end it.';

CREATE FUNCTION public.divvy_keep_uncounted() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'public', 'pg_temp'
    AS $$
BEGIN
    IF EXISTS (SELECT FROM usage_state s WHERE CASE WHEN OLD.nth IS NULL THEN OLD.ended_at >= s.past ELSE OLD.nth > s.done END) THEN
        RETURN NULL;
    END IF;
    RETURN OLD;
END $$;

COMMENT ON FUNCTION public.divvy_keep_uncounted() IS 'Keeps attempts that are not in the roll-ups yet from being deleted, or moved, out of the default partition.';

CREATE FUNCTION public.divvy_lease_piece() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
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

COMMENT ON FUNCTION public.divvy_lease_piece() IS 'Notes up to when the share was charged that a lease leaves.';

CREATE FUNCTION public.divvy_make_days(parent text, first date, days integer) RETURNS integer
    LANGUAGE plpgsql
    SET lock_timeout TO '200ms'
    SET "TimeZone" TO 'UTC'
    SET search_path TO 'public', 'pg_temp'
    AS $_$
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
END $_$;

COMMENT ON FUNCTION public.divvy_make_days(parent text, first date, days integer) IS 'Makes the daily partitions of a table from first on, as many as days; returns how many were missing.';

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

CREATE FUNCTION public.divvy_move_day(parent text, day date) RETURNS bigint
    LANGUAGE plpgsql
    SET lock_timeout TO '200ms'
    SET "TimeZone" TO 'UTC'
    SET search_path TO 'public', 'pg_temp'
    AS $_$
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
END $_$;

COMMENT ON FUNCTION public.divvy_move_day(parent text, day date) IS 'Moves the rows of a day that is over out of the default partition into a table of their own; returns how many. divvy_attach_day makes it a partition, in the same transaction.';

CREATE FUNCTION public.divvy_new_day(parent text, day date) RETURNS text
    LANGUAGE plpgsql
    SET search_path TO 'public', 'pg_temp'
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

COMMENT ON FUNCTION public.divvy_new_day(parent text, day date) IS 'Makes a table for a day of another table, not yet as its partition; returns its name.';

CREATE FUNCTION public.divvy_tend_at() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'public', 'pg_temp'
    AS $$
BEGIN
    NEW.tend_at := CASE
        WHEN NEW.state = 'released' THEN NULL
        WHEN NEW.unplaced THEN now()
        WHEN NEW.state = 'pending' OR NEW.sharers > 0 THEN NULL
        WHEN NEW.state = 'draining' THEN now()
        WHEN NEW.task_id = 0 THEN NULL
        WHEN NEW.lost OR TG_OP = 'UPDATE' AND OLD.sharers > 0 THEN now() -- maybe no job is left that wants it
        ELSE NEW.idle_since + make_interval(secs => NEW.linger_s)
    END;
    RETURN NEW;
END $$;

COMMENT ON FUNCTION public.divvy_tend_at() IS 'Computes when a claim is to be looked at. A trigger, because what it depends on is written in many places.';

CREATE FUNCTION public.divvy_timeline() RETURNS text
    LANGUAGE sql
    AS $$ SELECT CASE WHEN NOT pg_is_in_recovery() THEN left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) END $$;

COMMENT ON FUNCTION public.divvy_timeline() IS 'The timeline on which this server writes; NULL on a standby.';

CREATE FUNCTION public.divvy_wait_bounds() RETURNS double precision[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN '{1,2,5,10,20,30,60,120,300,600,1200,1800,3600,7200,14400,28800,43200,86400,172800,604800}'::double precision[];

COMMENT ON FUNCTION public.divvy_wait_bounds() IS 'Seconds that bound the buckets of waits.';

CREATE FUNCTION public.note_job_range() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO public.job_ranges (task_id, low, high) VALUES (NEW.task_id, NEW.id, NEW.id) ON CONFLICT DO NOTHING;
    RETURN NULL;
END
$$;

COMMENT ON FUNCTION public.note_job_range() IS 'Notes a range of one job for statements that make jobs and do not note ranges themselves, as those by hand.';

CREATE TABLE public.attempts (
    job_id bigint NOT NULL,
    attempt integer NOT NULL,
    nonce bigint NOT NULL,
    task_id bigint NOT NULL,
    share_id integer NOT NULL,
    shape_id integer NOT NULL,
    queue_id integer NOT NULL,
    units bigint NOT NULL,
    cores integer NOT NULL,
    priority integer NOT NULL,
    pilot text NOT NULL,
    node text NOT NULL,
    claimed_at timestamp with time zone NOT NULL,
    started_at timestamp with time zone,
    ended_at timestamp with time zone DEFAULT now() NOT NULL,
    outcome text NOT NULL,
    exit_code integer,
    message text DEFAULT ''::text NOT NULL,
    cpu_s double precision DEFAULT 0 NOT NULL,
    memory_mb bigint DEFAULT 0 NOT NULL,
    outputs jsonb,
    log_tail text DEFAULT ''::text NOT NULL,
    said text,
    report jsonb,
    judged text,
    nth bigint,
    CONSTRAINT attempts_outcome_check CHECK ((outcome = ANY (ARRAY['finished'::text, 'failed'::text, 'lost'::text, 'cancelled'::text, 'revoked'::text])))
)
PARTITION BY RANGE (ended_at);
ALTER TABLE ONLY public.attempts ALTER COLUMN nonce SET STATISTICS 0;
ALTER TABLE ONLY public.attempts ALTER COLUMN message SET STATISTICS 0;
ALTER TABLE ONLY public.attempts ALTER COLUMN cpu_s SET STATISTICS 0;
ALTER TABLE ONLY public.attempts ALTER COLUMN memory_mb SET STATISTICS 0;
ALTER TABLE ONLY public.attempts ALTER COLUMN outputs SET STATISTICS 0;
ALTER TABLE ONLY public.attempts ALTER COLUMN log_tail SET STATISTICS 0;
ALTER TABLE ONLY public.attempts ALTER COLUMN said SET STATISTICS 0;
ALTER TABLE ONLY public.attempts ALTER COLUMN report SET STATISTICS 0;
ALTER TABLE ONLY public.attempts ALTER COLUMN judged SET STATISTICS 0;

COMMENT ON TABLE public.attempts IS 'Attempts that ended: what accounting reads. By day; the default partition holds rows whose day has no partition.';

COMMENT ON COLUMN public.attempts.units IS 'Thousandths of a unit.';

COMMENT ON COLUMN public.attempts.said IS 'How a reclaimed attempt that counts as revoked ended: cancelled or failed, as its pilot said, or reclaimed, without a word from it; NULL for all others.';

COMMENT ON COLUMN public.attempts.report IS 'What its pilot reported beside the rest, by name, the last value of each; NULL: nothing.';

COMMENT ON COLUMN public.attempts.judged IS 'What a retry rule or the terms of its task made of an attempt that did not finish; NULL: its job was tried again at once, or was over.';

COMMENT ON COLUMN public.attempts.nth IS 'Number in the order of insertion, with gaps; usage_state says up to where attempts are in the roll-ups.';

CREATE TABLE public.lease_pieces (
    job_id bigint NOT NULL,
    attempt integer NOT NULL,
    nonce bigint NOT NULL,
    share_id integer NOT NULL,
    since timestamp with time zone NOT NULL,
    until timestamp with time zone NOT NULL,
    CONSTRAINT lease_pieces_check CHECK ((since <= until))
);

COMMENT ON TABLE public.lease_pieces IS 'Leases that went to another share: the share that was charged before, from when to when. The time behind the last piece is charged to the share of the lease, or of the attempt.';

COMMENT ON COLUMN public.lease_pieces.until IS 'By the clock, not by the begin of the transaction, which may lie before the claim. It may lie behind the end of an attempt whose end waited for the move: readers cut it there.';

CREATE VIEW public.attempt_pieces AS
 SELECT a.nth,
    a.job_id,
    a.attempt,
    a.nonce,
    a.task_id,
    p.share_id,
    a.queue_id,
    "left"(a.node, 200) AS node,
    a.cores,
    a.units,
    a.outcome,
    a.claimed_at,
    a.ended_at,
    to_timestamp(((h.hour * 3600))::double precision) AS hour,
    ('1970-01-01'::date + ((h.hour / 24))::integer) AS day,
    e.us,
    e.ends,
    (((a.cores * e.us))::numeric * 0.000001) AS slot_seconds,
    ((a.units)::numeric * ((e.us)::numeric * 0.000000001)) AS unit_seconds,
        CASE
            WHEN (a.outcome = ANY (ARRAY['failed'::text, 'lost'::text, 'revoked'::text])) THEN (((a.cores * e.us))::numeric * 0.000001)
            ELSE (0)::numeric
        END AS wasted_slot_seconds,
        CASE
            WHEN e.ends THEN ((LEAST(GREATEST(a.cpu_s, (0)::double precision), (1000000000)::double precision) * (1000)::double precision))::bigint
            ELSE (0)::bigint
        END AS cpu_ms,
    ((e.ends AND (a.outcome = 'finished'::text)))::integer AS finished,
    ((e.ends AND (a.outcome = 'failed'::text)))::integer AS failed,
    ((e.ends AND (a.outcome = 'lost'::text)))::integer AS lost,
    ((e.ends AND (a.outcome = 'cancelled'::text)))::integer AS cancelled,
    ((e.ends AND (a.outcome = 'revoked'::text)))::integer AS revoked
   FROM ((((public.attempts a
     CROSS JOIN LATERAL ( SELECT ((EXTRACT(epoch FROM a.claimed_at) * (1000000)::numeric))::bigint AS begun,
            ((EXTRACT(epoch FROM GREATEST(a.ended_at, a.claimed_at)) * (1000000)::numeric))::bigint AS ended) b)
     CROSS JOIN LATERAL ( SELECT a.share_id,
            true AS last,
            b.ended AS until,
            LEAST(b.ended, COALESCE(( SELECT ((EXTRACT(epoch FROM max(m.until)) * (1000000)::numeric))::bigint AS int8
                   FROM public.lease_pieces m
                  WHERE ((m.job_id = a.job_id) AND (m.attempt = a.attempt) AND (m.nonce = a.nonce))), b.begun)) AS since
        UNION ALL
         SELECT m.share_id,
            false,
            LEAST(((EXTRACT(epoch FROM m.until) * (1000000)::numeric))::bigint, b.ended) AS "least",
            LEAST(((EXTRACT(epoch FROM m.since) * (1000000)::numeric))::bigint, b.ended) AS "least"
           FROM public.lease_pieces m
          WHERE ((m.job_id = a.job_id) AND (m.attempt = a.attempt) AND (m.nonce = a.nonce))) p)
     CROSS JOIN LATERAL ( SELECT g.hour
           FROM generate_series((p.since / '3600000000'::bigint), (p.until / '3600000000'::bigint)) g(hour)
          WHERE ((g.hour % (1)::bigint) = 0)) h)
     CROSS JOIN LATERAL ( SELECT (LEAST(p.until, ((h.hour + 1) * '3600000000'::bigint)) - GREATEST(p.since, (h.hour * '3600000000'::bigint))) AS us,
            (p.last AND (h.hour = (p.until / '3600000000'::bigint))) AS ends) e);

COMMENT ON VIEW public.attempt_pieces IS 'What ended attempts cost, one row an attempt, charged share and hour: cores and units for so many microseconds.';

CREATE FUNCTION report.uncounted() RETURNS SETOF public.attempt_pieces
    LANGUAGE plpgsql STABLE SECURITY DEFINER PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET max_parallel_workers_per_gather TO '0'
    AS $$
DECLARE
    s    public.usage_state;
    last bigint;
BEGIN
    SELECT * INTO STRICT s FROM public.usage_state;
    SELECT CASE WHEN n.is_called THEN n.last_value ELSE 0 END INTO STRICT last FROM public.attempts_nth n;
    IF last > s.done THEN
        RETURN QUERY SELECT p.* FROM public.attempt_pieces p WHERE p.nth > s.done AND p.nth <= last;
    END IF;
    IF s.past IS NOT NULL THEN
        RETURN QUERY SELECT p.* FROM public.attempt_pieces p WHERE p.nth IS NULL AND p.ended_at >= s.past;
    END IF;
END $$;

COMMENT ON FUNCTION report.uncounted() IS 'Pieces of attempts that are not in the roll-ups yet: next to nothing as a rule. The usage views add them.';

CREATE SEQUENCE public.attempts_nth
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

ALTER SEQUENCE public.attempts_nth OWNED BY public.attempts.nth;

CREATE TABLE public.attempts_rest (
    job_id bigint NOT NULL,
    attempt integer NOT NULL,
    nonce bigint NOT NULL,
    task_id bigint NOT NULL,
    share_id integer NOT NULL,
    shape_id integer NOT NULL,
    queue_id integer NOT NULL,
    units bigint NOT NULL,
    cores integer NOT NULL,
    priority integer NOT NULL,
    pilot text NOT NULL,
    node text NOT NULL,
    claimed_at timestamp with time zone NOT NULL,
    started_at timestamp with time zone,
    ended_at timestamp with time zone DEFAULT now() NOT NULL,
    outcome text NOT NULL,
    exit_code integer,
    message text DEFAULT ''::text NOT NULL,
    cpu_s double precision DEFAULT 0 NOT NULL,
    memory_mb bigint DEFAULT 0 NOT NULL,
    outputs jsonb,
    log_tail text DEFAULT ''::text NOT NULL,
    said text,
    report jsonb,
    judged text,
    nth bigint DEFAULT nextval('public.attempts_nth'::regclass),
    CONSTRAINT attempts_outcome_check CHECK ((outcome = ANY (ARRAY['finished'::text, 'failed'::text, 'lost'::text, 'cancelled'::text, 'revoked'::text])))
)
WITH (autovacuum_analyze_scale_factor='0.5');
ALTER TABLE ONLY public.attempts_rest ALTER COLUMN nonce SET STATISTICS 0;
ALTER TABLE ONLY public.attempts_rest ALTER COLUMN message SET STATISTICS 0;
ALTER TABLE ONLY public.attempts_rest ALTER COLUMN cpu_s SET STATISTICS 0;
ALTER TABLE ONLY public.attempts_rest ALTER COLUMN memory_mb SET STATISTICS 0;
ALTER TABLE ONLY public.attempts_rest ALTER COLUMN outputs SET STATISTICS 0;
ALTER TABLE ONLY public.attempts_rest ALTER COLUMN log_tail SET STATISTICS 0;
ALTER TABLE ONLY public.attempts_rest ALTER COLUMN said SET STATISTICS 0;
ALTER TABLE ONLY public.attempts_rest ALTER COLUMN report SET STATISTICS 0;
ALTER TABLE ONLY public.attempts_rest ALTER COLUMN judged SET STATISTICS 0;

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

CREATE TABLE public.black_holes (
    queue_id integer NOT NULL,
    since timestamp with time zone DEFAULT now() NOT NULL,
    ends integer NOT NULL,
    fails integer NOT NULL,
    good integer DEFAULT 0 NOT NULL,
    bad_at timestamp with time zone DEFAULT now() NOT NULL,
    probed_at timestamp with time zone DEFAULT now() NOT NULL
);

COMMENT ON TABLE public.black_holes IS 'Queues that fail nearly all that they get while other queues do not. They get a job from time to time, until these finish.';

COMMENT ON COLUMN public.black_holes.ends IS 'Recent attempts that had ended there when a daemon found it; fails: those of them that failed or were lost.';

COMMENT ON COLUMN public.black_holes.good IS 'Attempts that finished there since the last one that did not.';

COMMENT ON COLUMN public.black_holes.bad_at IS 'When an attempt there last failed or was lost.';

COMMENT ON COLUMN public.black_holes.probed_at IS 'When a daemon last took the turn to give it a job.';

CREATE TABLE public.checkpoints (
    at timestamp with time zone DEFAULT now() NOT NULL,
    daemon_ids bigint[] NOT NULL,
    lanes integer[] NOT NULL,
    seqs bigint[] NOT NULL,
    share_ids integer[] NOT NULL,
    shape_ids integer[] NOT NULL,
    queue_ids integer[] NOT NULL,
    readies bigint[] NOT NULL,
    helds bigint[] NOT NULL,
    held_units bigint[] NOT NULL
)
PARTITION BY RANGE (at);

COMMENT ON TABLE public.checkpoints IS 'Ready jobs by share and shape, held jobs and units by share, shape and queue: exact at seqs of the lanes. One a minute; fewer where they are large.';

CREATE TABLE public.claim_devices (
    queue_id integer NOT NULL,
    node text NOT NULL,
    device text NOT NULL,
    claim_id bigint NOT NULL
);

COMMENT ON TABLE public.claim_devices IS 'Devices of bound claims. Each belongs to one claim at a time.';

CREATE TABLE public.claim_gangs (
    claim_id bigint NOT NULL,
    members integer NOT NULL,
    made integer NOT NULL,
    CONSTRAINT claim_gangs_made_check CHECK ((made >= 0)),
    CONSTRAINT claim_gangs_members_check CHECK ((members > 0))
);

COMMENT ON TABLE public.claim_gangs IS 'Claims whose jobs start together: how many there are to be, and how many have been made so far.';

COMMENT ON COLUMN public.claim_gangs.made IS 'Jobs that try others again count where the claim was made for them; elsewhere they are beyond the members, which does no harm.';

CREATE TABLE public.counter_lanes (
    daemon_id bigint NOT NULL,
    lane integer NOT NULL,
    seq bigint NOT NULL
)
WITH (fillfactor='50');

COMMENT ON TABLE public.counter_lanes IS 'Up to where the ledger is counted in counters.';

CREATE TABLE public.counters (
    share_id integer NOT NULL,
    shape_id integer NOT NULL,
    queue_id integer NOT NULL,
    waiting bigint NOT NULL,
    ready bigint NOT NULL,
    held bigint NOT NULL,
    held_units bigint NOT NULL
)
WITH (fillfactor='50');

COMMENT ON TABLE public.counters IS 'The ledger folded up to counter_lanes. Rows are few and written every few seconds.';

CREATE TABLE public.daemons (
    id bigint NOT NULL,
    host text NOT NULL,
    pid integer NOT NULL,
    started_at timestamp with time zone DEFAULT now() NOT NULL,
    seen_at timestamp with time zone DEFAULT now() NOT NULL,
    closed_at timestamp with time zone,
    address text DEFAULT ''::text NOT NULL,
    secret text DEFAULT ''::text NOT NULL,
    pilot_queues integer[] DEFAULT '{}'::integer[] NOT NULL,
    version text DEFAULT ''::text NOT NULL,
    timeline text
);

COMMENT ON TABLE public.daemons IS 'One row for each start of a daemon. closed_at is the fence: a closed daemon grants nothing.';

COMMENT ON COLUMN public.daemons.address IS 'host:port at which other daemons reach it; empty: nowhere.';

COMMENT ON COLUMN public.daemons.secret IS 'What other daemons must show there; made anew at every start.';

COMMENT ON COLUMN public.daemons.pilot_queues IS 'Queues at which pilots asked it in the last five minutes, as of seen_at.';

COMMENT ON COLUMN public.daemons.version IS 'Its release, or the commit that it was built from.';

COMMENT ON COLUMN public.daemons.timeline IS 'The timeline of the server that its knowledge is of: on another one it grants nothing, and starts anew.';

ALTER TABLE public.daemons ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.daemons_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.decisions (
    written_at timestamp with time zone DEFAULT now() NOT NULL,
    daemon_id bigint NOT NULL,
    ms_ago integer[] NOT NULL,
    lanes smallint[] NOT NULL,
    seqs bigint[] NOT NULL,
    job_ids bigint[] NOT NULL,
    queue_ids integer[] NOT NULL,
    share_ids integer[] NOT NULL,
    deficits real[] NOT NULL,
    runner_up_ids integer[] NOT NULL,
    runner_up_deficits real[] NOT NULL,
    candidates integer[] NOT NULL,
    units bigint[] NOT NULL,
    rounds bigint[] NOT NULL,
    weights integer[] NOT NULL,
    version bigint DEFAULT 0 NOT NULL,
    turn bigint DEFAULT 0 NOT NULL,
    turns integer[] DEFAULT '{}'::integer[] NOT NULL,
    kinds integer[] DEFAULT '{}'::integer[] NOT NULL,
    shapes integer[] DEFAULT '{}'::integer[] NOT NULL,
    cores integer[] DEFAULT '{}'::integer[] NOT NULL,
    mosts integer[] DEFAULT '{}'::integer[] NOT NULL,
    unfits integer[] DEFAULT '{}'::integer[] NOT NULL,
    barreds integer[] DEFAULT '{}'::integer[] NOT NULL,
    pull bigint DEFAULT 0 NOT NULL,
    pulls integer[] DEFAULT '{}'::integer[] NOT NULL,
    attempts integer[] DEFAULT '{}'::integer[] NOT NULL,
    level_deficits real[] DEFAULT '{}'::real[] NOT NULL,
    depths integer[] DEFAULT '{}'::integer[] NOT NULL,
    skipped_ids integer[] DEFAULT '{}'::integer[] NOT NULL,
    skipped_words text DEFAULT ''::text NOT NULL,
    skips integer[] DEFAULT '{}'::integer[] NOT NULL,
    floors boolean[] DEFAULT '{}'::boolean[] NOT NULL
)
PARTITION BY RANGE (written_at);

COMMENT ON TABLE public.decisions IS 'Records of committed claims, one row a second and daemon, as parallel arrays: a row of its own for each would be four times as large. From kinds on, level_deficits and skipped_ids apart, an array that is shorter than job_ids holds one value for all.';

COMMENT ON COLUMN public.decisions.ms_ago IS 'Milliseconds before written_at.';

COMMENT ON COLUMN public.decisions.lanes IS 'With seqs: the ledger row of the transaction of the claim.';

COMMENT ON COLUMN public.decisions.deficits IS 'In units.';

COMMENT ON COLUMN public.decisions.runner_up_ids IS 'The share that would have won without the winner; 0: no other had a job for the slot.';

COMMENT ON COLUMN public.decisions.candidates IS 'Leaves that had a job for this slot which every hard limit admitted.';

COMMENT ON COLUMN public.decisions.units IS 'Thousandths of a unit that the job is charged.';

COMMENT ON COLUMN public.decisions.rounds IS 'R that the targets were solved for, in thousandths of a unit.';

COMMENT ON COLUMN public.decisions.weights IS 'Number of claims that the record stands for.';

COMMENT ON COLUMN public.decisions.version IS 'Version of the site.';

COMMENT ON COLUMN public.decisions.turns IS 'turn + turns: number of the decision at the daemon.';

COMMENT ON COLUMN public.decisions.kinds IS 'Kind of the slot, as diaries has it.';

COMMENT ON COLUMN public.decisions.shapes IS 'Shape of the job.';

COMMENT ON COLUMN public.decisions.cores IS 'Cores that the slot offered; mosts: how many jobs it still asked for.';

COMMENT ON COLUMN public.decisions.unfits IS 'Leaves with ready jobs of which none fits the slot; barreds: those that a limit keeps back.';

COMMENT ON COLUMN public.decisions.pulls IS 'pull + pulls: number of the pull at the daemon.';

COMMENT ON COLUMN public.decisions.level_deficits IS 'Deficits along the path of the winner from the top down, depths of them a record.';

COMMENT ON COLUMN public.decisions.skipped_ids IS 'The first leaves that stood before the winner, skips of them a record.';

COMMENT ON COLUMN public.decisions.skipped_words IS 'A letter for each of these, why it did not contend: f none of its jobs fits, m a max, p the capacity of the pool, l lending, b borrowing, r resources.';

COMMENT ON COLUMN public.decisions.floors IS 'The winner came before its turn by a floor of the queue.';

CREATE TABLE public.diaries (
    written_at timestamp with time zone DEFAULT now() NOT NULL,
    daemon_id bigint NOT NULL,
    nth bigint NOT NULL,
    turn bigint NOT NULL,
    words text NOT NULL,
    turns integer[] NOT NULL,
    ms_ago integer[] NOT NULL,
    refs bigint[] NOT NULL,
    share_ids integer[] NOT NULL,
    shape_ids integer[] NOT NULL,
    queue_ids integer[] NOT NULL,
    amounts bigint[] NOT NULL
)
PARTITION BY RANGE (written_at);

COMMENT ON TABLE public.diaries IS 'What a daemon took into account beside its own decisions, in its order: one letter of words for each entry, which comes after its decision turn + turns. The doc of package dispatcher has the letters.';

COMMENT ON COLUMN public.diaries.nth IS 'Number of the row at its daemon, without gaps.';

CREATE TABLE public.end_counters (
    hour timestamp with time zone NOT NULL,
    share_id integer NOT NULL,
    shape_id integer NOT NULL,
    queue_id integer NOT NULL,
    state "char" NOT NULL,
    n bigint NOT NULL,
    CONSTRAINT end_counters_state_check CHECK ((state = ANY (ARRAY['f'::"char", 'x'::"char", 'c'::"char"])))
)
WITH (fillfactor='50');

COMMENT ON TABLE public.end_counters IS 'Jobs that reached a final state (by the letters of the ledger), by the hour of the fold that counted them. queue_id 0: they did not run.';

CREATE TABLE public.ended_jobs (
    id bigint NOT NULL,
    task_id bigint NOT NULL,
    share_id integer NOT NULL,
    shape_id integer NOT NULL,
    priority integer NOT NULL,
    state text NOT NULL,
    attempt integer NOT NULL,
    max_attempts integer NOT NULL,
    idx bigint NOT NULL,
    inputs text[],
    first_event bigint,
    n_events bigint,
    retry_of bigint,
    created_at timestamp with time zone NOT NULL,
    ended_at timestamp with time zone DEFAULT now() NOT NULL,
    scaled_away boolean,
    CONSTRAINT ended_jobs_state_check CHECK ((state = ANY (ARRAY['finished'::text, 'failed'::text, 'cancelled'::text])))
)
PARTITION BY RANGE (ended_at);
ALTER TABLE ONLY public.ended_jobs ALTER COLUMN inputs SET STATISTICS 0;

COMMENT ON TABLE public.ended_jobs IS 'Jobs in a final state, by day as attempts are.';

COMMENT ON COLUMN public.ended_jobs.scaled_away IS 'Its task was scaled down since: it is not tried again, and the task can be done without it; NULL: it was not.';

CREATE TABLE public.ended_jobs_rest (
    id bigint NOT NULL,
    task_id bigint NOT NULL,
    share_id integer NOT NULL,
    shape_id integer NOT NULL,
    priority integer NOT NULL,
    state text NOT NULL,
    attempt integer NOT NULL,
    max_attempts integer NOT NULL,
    idx bigint NOT NULL,
    inputs text[],
    first_event bigint,
    n_events bigint,
    retry_of bigint,
    created_at timestamp with time zone NOT NULL,
    ended_at timestamp with time zone DEFAULT now() NOT NULL,
    scaled_away boolean,
    CONSTRAINT ended_jobs_state_check CHECK ((state = ANY (ARRAY['finished'::text, 'failed'::text, 'cancelled'::text])))
)
WITH (autovacuum_analyze_scale_factor='0.5');
ALTER TABLE ONLY public.ended_jobs_rest ALTER COLUMN inputs SET STATISTICS 0;

CREATE TABLE public.escrow (
    daemon_id bigint NOT NULL,
    kind text NOT NULL,
    ref text NOT NULL,
    pool text DEFAULT ''::text NOT NULL,
    granted bigint NOT NULL
)
WITH (fillfactor='50');

COMMENT ON TABLE public.escrow IS 'Part of each limit that a daemon may hand out by itself.';

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
    claims jsonb,
    locations text[],
    locality text,
    user_name text,
    plain_id integer,
    CONSTRAINT shapes_cores_check CHECK (((cores > 0) OR ((cores = 0) AND (resources <> '{}'::jsonb)))),
    CONSTRAINT shapes_disk_mb_check CHECK ((disk_mb >= 0)),
    CONSTRAINT shapes_locality_check CHECK ((locality = ANY (ARRAY['required'::text, 'preferred'::text]))),
    CONSTRAINT shapes_locations_check CHECK ((((locations IS NULL) = (locality IS NULL)) AND (cardinality(locations) <> 0))),
    CONSTRAINT shapes_memory_mb_check CHECK ((memory_mb >= 0)),
    CONSTRAINT shapes_user_name_check CHECK (((user_name IS NULL) = (plain_id IS NULL))),
    CONSTRAINT shapes_walltime_s_check CHECK ((walltime_s >= 0))
);

COMMENT ON TABLE public.shapes IS 'Requirements of jobs, interned: a million jobs of one task share one row.';

COMMENT ON COLUMN public.shapes.key IS 'Identifies the requirements: equal ones have one row.';

COMMENT ON COLUMN public.shapes.cores IS 'Cores that a job needs. 0: no job has this shape; its resources are those that a bound claim holds.';

COMMENT ON COLUMN public.shapes.queues IS 'Selectors: queue names, globs (gpu-*) or label selectors (os=el9); empty: any queue.';

COMMENT ON COLUMN public.shapes.label IS 'Label of the task; empty: none.';

COMMENT ON COLUMN public.shapes.resources IS 'Units of resources that a job holds, by name, as in {"maya": 1, "table:orders": 1}.';

COMMENT ON COLUMN public.shapes.sharing_id IS 'The party whose part of the resources the job uses: its user unless the task says otherwise; empty where it asks for none.';

COMMENT ON COLUMN public.shapes.claims IS 'Of jobs with claims: where the bound ones are, and what the others need; NULL: no claims.';

COMMENT ON COLUMN public.shapes.locations IS 'Storages that have the inputs of a job, sorted; NULL: any.';

COMMENT ON COLUMN public.shapes.locality IS 'required: only queues with one of the locations run it; preferred: they come first. NULL: no locations.';

COMMENT ON COLUMN public.shapes.user_name IS 'The user whose jobs have it, in shares that give jobs by fair turn among users; NULL: any user.';

COMMENT ON COLUMN public.shapes.plain_id IS 'The same shape for any user; NULL: it is that one.';

CREATE VIEW public.job_counters AS
 SELECT counters.share_id,
    counters.shape_id,
    counters.queue_id,
    counters.waiting,
    counters.ready,
    counters.held,
    counters.held_units
   FROM public.counters
  WHERE (NOT (counters.shape_id IN ( SELECT shapes.id
           FROM public.shapes
          WHERE (shapes.cores = 0))));

COMMENT ON VIEW public.job_counters IS 'Counters of jobs, without the units that claims hold: these count as one held job of a shape without cores.';

CREATE TABLE public.job_ranges (
    task_id bigint NOT NULL,
    low bigint NOT NULL,
    high bigint NOT NULL,
    CONSTRAINT job_ranges_check CHECK ((low <= high))
)
WITH (autovacuum_vacuum_cost_delay='0');

COMMENT ON TABLE public.job_ranges IS 'Ranges of ids that hold the live jobs of a task. Ranges of one task do not overlap; jobs of others may lie between. Ranges whose jobs have all ended are removed later.';

COMMENT ON COLUMN public.job_ranges.task_id IS 'Task of the jobs.';

COMMENT ON COLUMN public.job_ranges.low IS 'The smallest id of the range.';

COMMENT ON COLUMN public.job_ranges.high IS 'The largest id of the range.';

CREATE TABLE public.lanes (
    lane integer NOT NULL,
    seq bigint DEFAULT 0 NOT NULL
)
WITH (fillfactor='10');

COMMENT ON TABLE public.lanes IS 'Lanes of transactions that have none of their own, such as enqueue, cancel and apply: daemon_id 0. The row is the lock.';

CREATE TABLE public.ledger (
    daemon_id bigint NOT NULL,
    lane integer NOT NULL,
    seq bigint NOT NULL,
    at timestamp with time zone DEFAULT now() NOT NULL,
    task_ids bigint[] NOT NULL,
    share_ids integer[] NOT NULL,
    shape_ids integer[] NOT NULL,
    queue_ids integer[] NOT NULL,
    befores text[] NOT NULL,
    afters text[] NOT NULL,
    ns integer[] NOT NULL,
    units bigint[] NOT NULL,
    places bigint[] NOT NULL,
    low_ids bigint[] NOT NULL,
    high_ids bigint[] NOT NULL
)
WITH (toast_tuple_target='8160', autovacuum_vacuum_insert_scale_factor='0.1', autovacuum_analyze_scale_factor='2');
ALTER TABLE ONLY public.ledger ALTER COLUMN task_ids SET STATISTICS 0;
ALTER TABLE ONLY public.ledger ALTER COLUMN task_ids SET COMPRESSION lz4;
ALTER TABLE ONLY public.ledger ALTER COLUMN share_ids SET STATISTICS 0;
ALTER TABLE ONLY public.ledger ALTER COLUMN share_ids SET COMPRESSION lz4;
ALTER TABLE ONLY public.ledger ALTER COLUMN shape_ids SET STATISTICS 0;
ALTER TABLE ONLY public.ledger ALTER COLUMN shape_ids SET COMPRESSION lz4;
ALTER TABLE ONLY public.ledger ALTER COLUMN queue_ids SET STATISTICS 0;
ALTER TABLE ONLY public.ledger ALTER COLUMN queue_ids SET COMPRESSION lz4;
ALTER TABLE ONLY public.ledger ALTER COLUMN befores SET STATISTICS 0;
ALTER TABLE ONLY public.ledger ALTER COLUMN afters SET STATISTICS 0;
ALTER TABLE ONLY public.ledger ALTER COLUMN ns SET STATISTICS 0;
ALTER TABLE ONLY public.ledger ALTER COLUMN units SET STATISTICS 0;
ALTER TABLE ONLY public.ledger ALTER COLUMN units SET COMPRESSION lz4;
ALTER TABLE ONLY public.ledger ALTER COLUMN places SET STATISTICS 0;
ALTER TABLE ONLY public.ledger ALTER COLUMN low_ids SET STATISTICS 0;
ALTER TABLE ONLY public.ledger ALTER COLUMN high_ids SET STATISTICS 0;

COMMENT ON TABLE public.ledger IS 'Changes of the states of jobs, one row a transaction, as parallel arrays: ns jobs of a task went from state before to after. An array that is shorter than task_ids holds one value for all. States by letter: - none, w waiting, r ready, l leased, f finished, x failed, c cancelled. queue_ids, units: of the lease, else 0. places, low_ids, high_ids: where jobs that became ready stand.';

CREATE VIEW public.ledger_lanes AS
 SELECT d.id AS daemon_id,
    l.lane
   FROM (public.daemons d
     CROSS JOIN generate_series(0, 4) l(lane))
UNION ALL
 SELECT 0 AS daemon_id,
    lanes.lane
   FROM public.lanes;

COMMENT ON VIEW public.ledger_lanes IS 'Every lane that may have rows: five of each daemon, the last of them for claims, and the shared ones.';

CREATE VIEW public.ledger_tail AS
 SELECT t.daemon_id,
    t.lane,
    t.seq,
    t.at,
    t.task_ids,
    t.share_ids,
    t.shape_ids,
    t.queue_ids,
    t.befores,
    t.afters,
    t.ns,
    t.units,
    t.places,
    t.low_ids,
    t.high_ids
   FROM ((public.ledger_lanes a
     LEFT JOIN public.counter_lanes c USING (daemon_id, lane))
     CROSS JOIN LATERAL ( SELECT l.daemon_id,
            l.lane,
            l.seq,
            l.at,
            l.task_ids,
            l.share_ids,
            l.shape_ids,
            l.queue_ids,
            l.befores,
            l.afters,
            l.ns,
            l.units,
            l.places,
            l.low_ids,
            l.high_ids
           FROM public.ledger l
          WHERE ((l.daemon_id = a.daemon_id) AND (l.lane = a.lane) AND (l.seq > COALESCE(c.seq, (0)::bigint)))
          ORDER BY l.seq) t);

COMMENT ON VIEW public.ledger_tail IS 'The part of the ledger that counters does not have yet. Counters + tail = exact at any moment.';

CREATE VIEW public.ledger_tail_moves AS
 SELECT t.daemon_id,
    t.lane,
    t.seq,
    m.task_id,
    m.share_id,
    m.shape_id,
    m.queue_id,
    COALESCE(m.before, t.befores[1]) AS before,
    COALESCE(m.after, t.afters[1]) AS after,
    COALESCE(m.n, t.ns[1]) AS n,
    m.units
   FROM (public.ledger_tail t
     CROSS JOIN LATERAL UNNEST(t.task_ids, t.share_ids, t.shape_ids, t.queue_ids, t.befores, t.afters, t.ns, t.units) m(task_id, share_id, shape_id, queue_id, before, after, n, units));

COMMENT ON VIEW public.ledger_tail_moves IS 'The tail, one row a move.';

CREATE VIEW public.job_tail_moves AS
 SELECT ledger_tail_moves.daemon_id,
    ledger_tail_moves.lane,
    ledger_tail_moves.seq,
    ledger_tail_moves.task_id,
    ledger_tail_moves.share_id,
    ledger_tail_moves.shape_id,
    ledger_tail_moves.queue_id,
    ledger_tail_moves.before,
    ledger_tail_moves.after,
    ledger_tail_moves.n,
    ledger_tail_moves.units
   FROM public.ledger_tail_moves
  WHERE (NOT (ledger_tail_moves.shape_id IN ( SELECT shapes.id
           FROM public.shapes
          WHERE (shapes.cores = 0))));

COMMENT ON VIEW public.job_tail_moves IS 'Moves of jobs that counters does not have yet, without those of claims.';

CREATE TABLE public.jobs (
    id bigint NOT NULL,
    task_id bigint NOT NULL,
    share_id integer NOT NULL,
    shape_id integer NOT NULL,
    place bigint NOT NULL,
    state text DEFAULT 'ready'::text NOT NULL,
    priority integer NOT NULL,
    attempt integer DEFAULT 1 NOT NULL,
    max_attempts integer NOT NULL,
    idx bigint NOT NULL,
    inputs text[],
    first_event bigint,
    n_events bigint,
    retry_of bigint,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    claims bigint[],
    scaled_away boolean,
    displaced boolean DEFAULT true,
    CONSTRAINT jobs_check CHECK (((attempt >= 1) AND (attempt <= max_attempts))),
    CONSTRAINT jobs_max_attempts_check CHECK ((max_attempts >= 1)),
    CONSTRAINT jobs_state_check CHECK ((state = ANY (ARRAY['waiting'::text, 'ready'::text])))
)
WITH (fillfactor='90', autovacuum_vacuum_cost_delay='0', autovacuum_vacuum_scale_factor='0.05', autovacuum_analyze_scale_factor='0.5');
ALTER TABLE ONLY public.jobs ALTER COLUMN inputs SET STATISTICS 0;

COMMENT ON TABLE public.jobs IS 'Live jobs. A leased job is one with a row in leases: its own row does not change, so a claim writes one narrow row and no index of jobs.';

COMMENT ON COLUMN public.jobs.place IS 'Order inside a share: ascending place, then id. It is -priority, or with aging the value that shares.Aging computes.';

COMMENT ON COLUMN public.jobs.idx IS 'Index of the piece of the task.';

COMMENT ON COLUMN public.jobs.first_event IS 'Of a job that runs events: the first one, and how many.';

COMMENT ON COLUMN public.jobs.retry_of IS 'The job whose piece it tries again; NULL: it is a first try.';

COMMENT ON COLUMN public.jobs.claims IS 'Claims that the job holds while it has a lease; NULL: none.';

COMMENT ON COLUMN public.jobs.scaled_away IS 'Its task was scaled down since: it ends, whatever its outcome, and is not tried again; NULL: it was not.';

COMMENT ON COLUMN public.jobs.displaced IS 'It is in no range of ready_ranges: it went to another share, shape or place, waited, or was made without one. NULL: ready_ranges has it.';

ALTER TABLE public.jobs ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.jobs_id_seq
    START WITH 1
    INCREMENT BY 16
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.lease_reports (
    job_id bigint NOT NULL,
    attempt integer NOT NULL,
    report jsonb NOT NULL
)
WITH (fillfactor='70', autovacuum_vacuum_scale_factor='0.05', autovacuum_vacuum_cost_delay='0');

COMMENT ON TABLE public.lease_reports IS 'What pilots report of attempts that run, beside the lease, so that it stays narrow. It goes into attempts.report at the end.';

CREATE TABLE public.leases (
    job_id bigint NOT NULL,
    attempt integer NOT NULL,
    nonce bigint NOT NULL,
    task_id bigint NOT NULL,
    share_id integer NOT NULL,
    shape_id integer NOT NULL,
    queue_id integer NOT NULL,
    units bigint NOT NULL,
    cores integer NOT NULL,
    priority integer NOT NULL,
    state text DEFAULT 'granted'::text NOT NULL,
    pilot text NOT NULL,
    node text NOT NULL,
    daemon_id bigint NOT NULL,
    claimed_at timestamp with time zone DEFAULT now() NOT NULL,
    started_at timestamp with time zone,
    expires_at timestamp with time zone NOT NULL,
    ttl_s integer NOT NULL,
    cpu_s double precision DEFAULT 0 NOT NULL,
    memory_mb bigint DEFAULT 0 NOT NULL,
    cancel_reason text,
    cancel_grace_s integer,
    reclaim_grace_s integer,
    told_at timestamp with time zone,
    reported boolean,
    CONSTRAINT leases_check CHECK (((told_at IS NULL) OR (reclaim_grace_s IS NOT NULL))),
    CONSTRAINT leases_cores_check CHECK ((cores > 0)),
    CONSTRAINT leases_reclaim_grace_s_check CHECK ((reclaim_grace_s >= 0)),
    CONSTRAINT leases_state_check CHECK ((state = ANY (ARRAY['granted'::text, 'starting'::text, 'running'::text, 'draining'::text]))),
    CONSTRAINT leases_ttl_s_check CHECK ((ttl_s > 0)),
    CONSTRAINT leases_units_check CHECK ((units > 0))
)
WITH (autovacuum_vacuum_scale_factor='0.02', autovacuum_vacuum_cost_delay='0', fillfactor='85', autovacuum_analyze_scale_factor='2');
ALTER TABLE ONLY public.leases ALTER COLUMN nonce SET STATISTICS 0;
ALTER TABLE ONLY public.leases ALTER COLUMN cpu_s SET STATISTICS 0;
ALTER TABLE ONLY public.leases ALTER COLUMN memory_mb SET STATISTICS 0;

COMMENT ON TABLE public.leases IS 'The right to run one attempt of a job. No index holds a column that a renewal changes, so renewals are HOT.';

COMMENT ON COLUMN public.leases.nonce IS 'Random number that fences the lease, together with job and attempt.';

COMMENT ON COLUMN public.leases.units IS 'Thousandths of a unit: cores x the core power of the queue.';

COMMENT ON COLUMN public.leases.daemon_id IS 'The daemon that granted it.';

COMMENT ON COLUMN public.leases.ttl_s IS 'Seconds that a renewal adds.';

COMMENT ON COLUMN public.leases.cancel_reason IS 'Why its pilot is told to end the job, with cancel_grace_s; NULL: it is not.';

COMMENT ON COLUMN public.leases.reclaim_grace_s IS 'Seconds that its pilot has, from told_at on, to give the units back; NULL: there is no such order.';

COMMENT ON COLUMN public.leases.told_at IS 'When a renewal first answered with that order; NULL: not yet.';

COMMENT ON COLUMN public.leases.reported IS 'Whether lease_reports has a row of it; NULL: no.';

CREATE TABLE public.limit_epoch (
    only_row boolean DEFAULT true NOT NULL,
    epoch bigint DEFAULT 0 NOT NULL,
    version bigint DEFAULT 0 NOT NULL,
    plans_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT limit_epoch_only_row_check CHECK (only_row)
);

COMMENT ON TABLE public.limit_epoch IS 'What the limits were computed of. Each computation begins a new epoch.';

COMMENT ON COLUMN public.limit_epoch.version IS 'Version of the site.';

COMMENT ON COLUMN public.limit_epoch.plans_at IS 'The moment whose plans the limits are of: for each share the window that it falls into, or the base.';

CREATE TABLE public.limit_lanes (
    daemon_id bigint NOT NULL,
    lane integer NOT NULL,
    seq bigint NOT NULL
);

COMMENT ON TABLE public.limit_lanes IS 'Up to where the held units of the present epoch are counted in limits.free.';

CREATE TABLE public.limits (
    kind text NOT NULL,
    ref text NOT NULL,
    pool text DEFAULT ''::text NOT NULL,
    cap bigint NOT NULL,
    free bigint NOT NULL,
    wanted_at timestamp with time zone,
    CONSTRAINT limits_kind_check CHECK ((kind = ANY (ARRAY['pool'::text, 'queue'::text, 'share'::text, 'target_slots'::text, 'resource'::text])))
)
WITH (fillfactor='50');

COMMENT ON TABLE public.limits IS 'Hard limits: cap = held + free + what daemons have in escrow, in thousandths of a unit (queue: of a core).';

COMMENT ON COLUMN public.limits.ref IS 'Id or name of the thing that is limited.';

COMMENT ON COLUMN public.limits.wanted_at IS 'When a daemon last found too little free; NULL: none did.';

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

CREATE TABLE public.payload_logs (
    at timestamp with time zone DEFAULT now() NOT NULL,
    job_id bigint NOT NULL,
    attempt integer NOT NULL,
    log text NOT NULL
)
PARTITION BY RANGE (at);
ALTER TABLE ONLY public.payload_logs ALTER COLUMN log SET STATISTICS 0;

COMMENT ON TABLE public.payload_logs IS 'End of stdout and stderr of an attempt that PanDA''s pilot ran, beside attempts.log_tail, which that pilot reported. The first row of an attempt counts.';

CREATE TABLE public.payloads (
    task_id bigint NOT NULL,
    command text[] NOT NULL,
    env jsonb NOT NULL,
    matrix jsonb NOT NULL,
    roles jsonb,
    retry jsonb
);

COMMENT ON TABLE public.payloads IS 'What the jobs of a task run: the template into which the piece of a job is put.';

COMMENT ON COLUMN public.payloads.roles IS 'Commands of roles that have their own, by group/role or role. The name of a job is its first input.';

COMMENT ON COLUMN public.payloads.retry IS 'Terms of the task for attempts that do not finish: max_failures, backoff_s, max_backoff_s, quarantine_after; NULL: none.';

CREATE TABLE public.place_walk (
    only_row boolean DEFAULT true NOT NULL,
    aged boolean DEFAULT false NOT NULL,
    after bigint,
    CONSTRAINT place_walk_only_row_check CHECK (only_row)
);

COMMENT ON TABLE public.place_walk IS 'The walk that gives live jobs their places after the plans of their shares have changed.';

COMMENT ON COLUMN public.place_walk.aged IS 'Some share had aging when the limits were last computed.';

COMMENT ON COLUMN public.place_walk.after IS 'Live jobs up to this id have the places that the plans of their shares give them; NULL: all have.';

CREATE TABLE public.pulls (
    key uuid NOT NULL,
    body_hash bytea NOT NULL,
    job_ids bigint[] NOT NULL,
    nonces bigint[] NOT NULL,
    at timestamp with time zone DEFAULT now() NOT NULL
);

COMMENT ON TABLE public.pulls IS 'Pulls that named a request id, kept for ten minutes so that a repeat gets the same leases.';

COMMENT ON COLUMN public.pulls.body_hash IS 'Tells a repeat from another request with the same id.';

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

CREATE TABLE public.ready_ranges (
    share_id integer NOT NULL,
    shape_id integer NOT NULL,
    place bigint NOT NULL,
    low bigint NOT NULL,
    high bigint NOT NULL,
    CONSTRAINT ready_ranges_check CHECK ((low <= high))
)
WITH (autovacuum_vacuum_cost_delay='0');

COMMENT ON TABLE public.ready_ranges IS 'Ranges of ids that hold jobs which became ready in a share, shape and place. Ranges of one share, shape and place do not overlap; other jobs may lie between. Ranges without such a job are removed later.';

COMMENT ON COLUMN public.ready_ranges.share_id IS 'Share of the jobs.';

COMMENT ON COLUMN public.ready_ranges.shape_id IS 'Shape of the jobs.';

COMMENT ON COLUMN public.ready_ranges.place IS 'Place of the jobs in the ready order.';

COMMENT ON COLUMN public.ready_ranges.low IS 'The smallest id of the range.';

COMMENT ON COLUMN public.ready_ranges.high IS 'The largest id of the range.';

CREATE TABLE public.reclaims (
    job_id bigint NOT NULL,
    attempt integer NOT NULL,
    nonce bigint NOT NULL,
    pool text NOT NULL,
    claimer_id integer NOT NULL,
    victim_id integer NOT NULL,
    plan_id integer NOT NULL,
    units bigint NOT NULL,
    grace_s integer NOT NULL,
    ordered_at timestamp with time zone DEFAULT now() NOT NULL,
    closed_at timestamp with time zone,
    outcome text,
    said text,
    lost double precision,
    CONSTRAINT reclaims_check CHECK (((outcome IS NULL) OR (closed_at IS NOT NULL))),
    CONSTRAINT reclaims_grace_s_check CHECK ((grace_s >= 0)),
    CONSTRAINT reclaims_lost_check CHECK ((lost >= (0)::double precision)),
    CONSTRAINT reclaims_units_check CHECK ((units > 0))
);

COMMENT ON TABLE public.reclaims IS 'Orders to leases to give their units back. Rows are closed when the lease is seen to be gone, and dropped after a week.';

COMMENT ON COLUMN public.reclaims.claimer_id IS 'Share that asked for the units.';

COMMENT ON COLUMN public.reclaims.victim_id IS 'Share that gives them.';

COMMENT ON COLUMN public.reclaims.plan_id IS 'Share whose plan has the reclaim: the claimer or an ancestor. The rate counts by it.';

COMMENT ON COLUMN public.reclaims.units IS 'Thousandths of a unit.';

COMMENT ON COLUMN public.reclaims.closed_at IS 'When the lease was seen to be gone; NULL: the order is open.';

COMMENT ON COLUMN public.reclaims.outcome IS 'Outcome of the attempt. Anything but revoked: it ended before the order took effect.';

COMMENT ON COLUMN public.reclaims.said IS 'How a revoked attempt ended; see attempts.said.';

COMMENT ON COLUMN public.reclaims.lost IS 'Units times seconds from claim to end, of a revoked attempt: what the reclaim cost.';

CREATE TABLE public.released_pieces (
    task_id bigint NOT NULL,
    "position" bigint NOT NULL,
    pieces bigint[] NOT NULL,
    CONSTRAINT released_pieces_pieces_check CHECK (((cardinality(pieces) >= 1) AND (cardinality(pieces) <= 1000))),
    CONSTRAINT released_pieces_position_check CHECK (("position" >= 0))
);

COMMENT ON TABLE public.released_pieces IS 'Pieces that may become jobs, in the order in which they may; pieces[1] is the one at position.';

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

CREATE TABLE public.resource_claims (
    id bigint NOT NULL,
    task_id bigint NOT NULL,
    key text NOT NULL,
    template jsonb NOT NULL,
    linger_s double precision NOT NULL,
    state text DEFAULT 'pending'::text NOT NULL,
    queue_id integer DEFAULT 0 NOT NULL,
    node text DEFAULT ''::text NOT NULL,
    devices jsonb DEFAULT '[]'::jsonb NOT NULL,
    bound_at timestamp with time zone,
    sharers integer DEFAULT 0 NOT NULL,
    charge_id integer DEFAULT 0 NOT NULL,
    share_id integer DEFAULT 0 NOT NULL,
    idle_since timestamp with time zone,
    lost boolean DEFAULT false NOT NULL,
    unplaced boolean DEFAULT false NOT NULL,
    placed_to bigint DEFAULT 0 NOT NULL,
    tend_at timestamp with time zone,
    changed xid8 DEFAULT pg_current_xact_id() NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    ended_at timestamp with time zone,
    CONSTRAINT resource_claims_check CHECK (((state = ANY (ARRAY['bound'::text, 'draining'::text])) OR ((sharers = 0) AND (queue_id = 0) AND (node = ''::text) AND (devices = '[]'::jsonb) AND (share_id = 0)))),
    CONSTRAINT resource_claims_key_check CHECK ((key <> ''::text)),
    CONSTRAINT resource_claims_linger_s_check CHECK ((linger_s >= (0)::double precision)),
    CONSTRAINT resource_claims_sharers_check CHECK ((sharers >= 0)),
    CONSTRAINT resource_claims_state_check CHECK ((state = ANY (ARRAY['pending'::text, 'bound'::text, 'draining'::text, 'released'::text])))
);

COMMENT ON TABLE public.resource_claims IS 'Claims: what several jobs hold together while one of them has a lease, such as a node or devices of it.';

COMMENT ON COLUMN public.resource_claims.task_id IS 'Task of the claim. 0: people made it, and say where it is and when it ends; jobs may wait for such a claim before it is made: then it is pending.';

COMMENT ON COLUMN public.resource_claims.key IS 'Which of the claims of the task: the same however often the task is generated on, retried or scaled. At most one of them is pending or bound. Of a claim that people made, its name.';

COMMENT ON COLUMN public.resource_claims.template IS 'What it takes: name, units of resources, node, devices by kind; and max_sharers.';

COMMENT ON COLUMN public.resource_claims.linger_s IS 'Seconds that it stays bound without a sharer.';

COMMENT ON COLUMN public.resource_claims.state IS 'draining: it is not wanted any more; no other job gets to hold it, and it ends with its last holder.';

COMMENT ON COLUMN public.resource_claims.queue_id IS 'With node: where it is bound; 0: nowhere.';

COMMENT ON COLUMN public.resource_claims.devices IS 'Devices of that node that are reserved for it.';

COMMENT ON COLUMN public.resource_claims.bound_at IS 'When it was bound there; NULL: it is not bound.';

COMMENT ON COLUMN public.resource_claims.sharers IS 'Leases of its jobs.';

COMMENT ON COLUMN public.resource_claims.charge_id IS 'Shape of the units that it holds while it is bound, as one held job of that shape in counters and ledger; 0: none.';

COMMENT ON COLUMN public.resource_claims.share_id IS 'Share that these are charged to, of the job that bound it; 0: it is not bound.';

COMMENT ON COLUMN public.resource_claims.idle_since IS 'Since when it is bound without a sharer.';

COMMENT ON COLUMN public.resource_claims.lost IS 'The lease of its last sharer ran out: it does not linger.';

COMMENT ON COLUMN public.resource_claims.unplaced IS 'Jobs of it may have a shape that names another place; those up to placed_to were looked at.';

COMMENT ON COLUMN public.resource_claims.tend_at IS 'When it is to be looked at again; NULL: never. Set by divvy_tend_at.';

COMMENT ON COLUMN public.resource_claims.changed IS 'The transaction that last wrote it: daemons read what the snapshot of their last read did not see.';

COMMENT ON COLUMN public.resource_claims.ended_at IS 'When it was released. It is kept for as long as a replay may look back.';

ALTER TABLE public.resource_claims ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.resource_claims_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

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
    attempt integer NOT NULL,
    due_at timestamp with time zone DEFAULT now() NOT NULL,
    judged boolean DEFAULT false NOT NULL,
    split boolean DEFAULT false NOT NULL
)
WITH (fillfactor='70', autovacuum_vacuum_scale_factor='0.05', autovacuum_vacuum_cost_delay='0');

COMMENT ON TABLE public.retries IS 'Waiting jobs whose last attempt failed or was lost, where a rule is to judge it or they are tried again later. Others are ready again at once and never here. A row without such a job is of one that was killed meanwhile.';

COMMENT ON COLUMN public.retries.attempt IS 'The attempt that ended.';

COMMENT ON COLUMN public.retries.due_at IS 'When the attempt is to be judged, or the job is ready again.';

COMMENT ON COLUMN public.retries.judged IS 'The rules have judged the attempt.';

COMMENT ON COLUMN public.retries.split IS 'Its piece is to become two before the job is ready again; the generator does that.';

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

ALTER TABLE public.shapes ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.shapes_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.share_memory (
    pool text NOT NULL,
    share_id integer NOT NULL,
    lag double precision NOT NULL,
    remembered double precision NOT NULL,
    at timestamp with time zone NOT NULL
)
WITH (fillfactor='50');

COMMENT ON TABLE public.share_memory IS 'What each share missed, for plans that remember. Written every few seconds, in place.';

COMMENT ON COLUMN public.share_memory.lag IS 'What the share missed: the integral of target - held, in units times seconds.';

COMMENT ON COLUMN public.share_memory.remembered IS 'The same, fading with its half_life; 0 without one.';

COMMENT ON COLUMN public.share_memory.at IS 'Up to when both are counted.';

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

CREATE TABLE public.share_samples_rest (
    at timestamp with time zone NOT NULL,
    pool text NOT NULL,
    share_id integer NOT NULL,
    target double precision NOT NULL,
    held bigint NOT NULL,
    ready bigint NOT NULL,
    deserved real,
    lent real,
    borrowed real
);

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

CREATE TABLE public.tag_rules (
    version bigint NOT NULL,
    "position" integer NOT NULL,
    match jsonb NOT NULL,
    share text NOT NULL
);

COMMENT ON TABLE public.tag_rules IS 'The ordered rules of every version of the site that send tasks to shares. The first rule that matches wins.';

CREATE TABLE public.target_floors (
    queue text NOT NULL,
    share_id integer NOT NULL,
    class text NOT NULL,
    slots integer NOT NULL,
    expires_at timestamp with time zone,
    set_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT target_floors_queue_check CHECK ((queue <> ''::text)),
    CONSTRAINT target_floors_slots_check CHECK ((slots >= 0))
);

COMMENT ON TABLE public.target_floors IS 'Cores up to which jobs come first at a queue: of a share (0: of all), of a class (empty: of all). The queue is named, because it may not exist yet.';

CREATE TABLE public.target_slots (
    queue text NOT NULL,
    share_id integer NOT NULL,
    class text NOT NULL,
    slots integer NOT NULL,
    expires_at timestamp with time zone,
    set_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT target_slots_queue_check CHECK ((queue <> ''::text)),
    CONSTRAINT target_slots_slots_check CHECK ((slots >= 0))
);

COMMENT ON TABLE public.target_slots IS 'Cores that may be held at a queue: by a share (0: by all), by a class of jobs (empty: by all). The queue is named, because it may not exist yet.';

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

CREATE TABLE public.task_lanes (
    daemon_id bigint NOT NULL,
    lane integer NOT NULL,
    seq bigint NOT NULL
)
WITH (fillfactor='50');

COMMENT ON TABLE public.task_lanes IS 'Up to where the ledger is counted in tasks.n_*.';

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

CREATE TABLE public.tasks (
    id bigint NOT NULL,
    name text NOT NULL,
    user_name text NOT NULL,
    state text DEFAULT 'submitting'::text NOT NULL,
    resume_state text,
    sweep boolean DEFAULT false NOT NULL,
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
    n_waiting bigint DEFAULT 0 NOT NULL,
    n_ready bigint DEFAULT 0 NOT NULL,
    n_leased bigint DEFAULT 0 NOT NULL,
    n_finished bigint DEFAULT 0 NOT NULL,
    n_failed bigint DEFAULT 0 NOT NULL,
    n_cancelled bigint DEFAULT 0 NOT NULL,
    idempotency_key text,
    body_hash bytea,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    committed_at timestamp with time zone,
    started_at timestamp with time zone,
    ended_at timestamp with time zone,
    priority_after bigint,
    parameters json,
    scaled jsonb,
    scaling boolean DEFAULT false NOT NULL,
    lots integer,
    scouts integer,
    scouted jsonb,
    n_halves bigint,
    sweep_after bigint,
    sweep_rest timestamp with time zone,
    quota bigint,
    limited text,
    chain text,
    n_released bigint,
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

COMMENT ON COLUMN public.tasks.sweep IS 'A verb was given whose bounded batches may not be complete; Generator.Sweep continues it.';

COMMENT ON COLUMN public.tasks.share_id IS 'The share that the jobs go to: what generation and demand read.';

COMMENT ON COLUMN public.tasks.own_share_id IS 'The share that the task asked for, where a rule on a job attribute sends its jobs to another; else NULL.';

COMMENT ON COLUMN public.tasks.shape_id IS 'Shape of its jobs; NULL: not known yet.';

COMMENT ON COLUMN public.tasks.tagged_by IS 'How the share was chosen, by which rule of site_version.';

COMMENT ON COLUMN public.tasks.split IS 'What a piece is made of.';

COMMENT ON COLUMN public.tasks.per_job IS 'Inputs or events of a piece.';

COMMENT ON COLUMN public.tasks.n_pieces IS 'Pieces of the work. n_jobs = pieces + jobs that try a piece again; n_generated of these are made, n_split of them for the first time of a piece.';

COMMENT ON COLUMN public.tasks.retry_after IS 'Failed and cancelled jobs up to this id have been tried again.';

COMMENT ON COLUMN public.tasks.n_waiting IS 'Jobs by state, as far as task_lanes says that the ledger is counted.';

COMMENT ON COLUMN public.tasks.idempotency_key IS 'Key of the submission: a repeat finds its task. body_hash tells whether it is the same task.';

COMMENT ON COLUMN public.tasks.priority_after IS 'Live jobs up to this id have the priority of the task; NULL: all have. Generator.Sweep continues.';

COMMENT ON COLUMN public.tasks.parameters IS 'What the task was submitted as where that was not a Spec: all of PanDA''s task parameters. NULL: it was a Spec.';

COMMENT ON COLUMN public.tasks.scaled IS 'Numbers of a task of groups that differ from those it was submitted with; its pieces to come are inputs by name. NULL: it was never scaled.';

COMMENT ON COLUMN public.tasks.scaling IS 'It was scaled down, and jobs that are to be cancelled may remain; Generator.Sweep continues.';

COMMENT ON COLUMN public.tasks.lots IS 'Number of lots that its pieces are cut from. NULL: piece i is the i-th run of per_job inputs or events.';

COMMENT ON COLUMN public.tasks.scouts IS 'Number of pieces that are made first, and measured; NULL: none. Until scouted is set n_jobs is no more than this.';

COMMENT ON COLUMN public.tasks.scouted IS 'What the scouts measured, and what the task was resized to; NULL: not over, or there were none.';

COMMENT ON COLUMN public.tasks.n_halves IS 'Of its pieces, how many are second halves of others; NULL: none. n_pieces, n_split and n_released have them.';

COMMENT ON COLUMN public.tasks.sweep_after IS 'The walk of a verb along the live jobs has come up to this id; NULL: it begins anew.';

COMMENT ON COLUMN public.tasks.sweep_rest IS 'The last walk found nothing to do, so that the next one may wait until then; NULL: it may not.';

COMMENT ON COLUMN public.tasks.quota IS 'Limits of the site let n_generated rise to this; NULL: no limit concerns the task.';

COMMENT ON COLUMN public.tasks.limited IS 'The limit that keeps the task from making more jobs, or any; NULL: none.';

COMMENT ON COLUMN public.tasks.chain IS 'Of tasks whose pieces follow those of others. open: more may come; broken: not all came, so that it cannot be done. NULL: neither.';

COMMENT ON COLUMN public.tasks.n_released IS 'Of tasks whose pieces wait for those of others: how many may be jobs; released_pieces has which. NULL: all may.';

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

CREATE VIEW public.uncounted_days AS
 SELECT p.day,
    p.share_id,
    p.queue_id,
    COALESCE(t.user_name, ''::text) AS user_name,
    sum(p.slot_seconds) AS slot_seconds,
    sum(p.unit_seconds) AS unit_seconds,
    sum(p.wasted_slot_seconds) AS wasted_slot_seconds,
    (sum(p.cpu_ms))::bigint AS cpu_ms,
    sum(p.finished) AS finished,
    sum(p.failed) AS failed,
    sum(p.lost) AS lost,
    sum(p.cancelled) AS cancelled,
    sum(p.revoked) AS revoked
   FROM (report.uncounted() p(nth, job_id, attempt, nonce, task_id, share_id, queue_id, node, cores, units, outcome, claimed_at, ended_at, hour, day, us, ends, slot_seconds, unit_seconds, wasted_slot_seconds, cpu_ms, finished, failed, lost, cancelled, revoked)
     LEFT JOIN public.tasks t ON ((t.id = p.task_id)))
  GROUP BY p.day, p.share_id, p.queue_id, COALESCE(t.user_name, ''::text);

COMMENT ON VIEW public.uncounted_days IS 'What usage_days does not have yet.';

CREATE VIEW public.uncounted_hours AS
 SELECT p.hour,
    p.share_id,
    p.queue_id,
    COALESCE(t.user_name, ''::text) AS user_name,
    sum(p.slot_seconds) AS slot_seconds,
    sum(p.unit_seconds) AS unit_seconds,
    sum(p.wasted_slot_seconds) AS wasted_slot_seconds,
    (sum(p.cpu_ms))::bigint AS cpu_ms,
    sum(p.finished) AS finished,
    sum(p.failed) AS failed,
    sum(p.lost) AS lost,
    sum(p.cancelled) AS cancelled,
    sum(p.revoked) AS revoked
   FROM (report.uncounted() p(nth, job_id, attempt, nonce, task_id, share_id, queue_id, node, cores, units, outcome, claimed_at, ended_at, hour, day, us, ends, slot_seconds, unit_seconds, wasted_slot_seconds, cpu_ms, finished, failed, lost, cancelled, revoked)
     LEFT JOIN public.tasks t ON ((t.id = p.task_id)))
  GROUP BY p.hour, p.share_id, p.queue_id, COALESCE(t.user_name, ''::text);

COMMENT ON VIEW public.uncounted_hours IS 'What usage_hours does not have yet.';

CREATE VIEW public.uncounted_nodes AS
 SELECT ((GREATEST(p.ended_at, p.claimed_at) AT TIME ZONE 'UTC'::text))::date AS day,
    p.queue_id,
    p.node,
    sum(p.slot_seconds) AS slot_seconds,
    sum(p.wasted_slot_seconds) AS wasted_slot_seconds,
    sum(p.finished) AS finished,
    sum(p.failed) AS failed,
    sum(p.lost) AS lost,
    sum(p.cancelled) AS cancelled,
    sum(p.revoked) AS revoked
   FROM report.uncounted() p(nth, job_id, attempt, nonce, task_id, share_id, queue_id, node, cores, units, outcome, claimed_at, ended_at, hour, day, us, ends, slot_seconds, unit_seconds, wasted_slot_seconds, cpu_ms, finished, failed, lost, cancelled, revoked)
  GROUP BY (((GREATEST(p.ended_at, p.claimed_at) AT TIME ZONE 'UTC'::text))::date), p.queue_id, p.node;

COMMENT ON VIEW public.uncounted_nodes IS 'What usage_nodes does not have yet.';

CREATE VIEW public.uncounted_pieces AS
 SELECT p.nth,
    p.job_id,
    p.attempt,
    p.nonce,
    p.task_id,
    p.share_id,
    p.queue_id,
    p.node,
    p.cores,
    p.units,
    p.outcome,
    p.claimed_at,
    p.ended_at,
    p.hour,
    p.day,
    p.us,
    p.ends,
    p.slot_seconds,
    p.unit_seconds,
    p.wasted_slot_seconds,
    p.cpu_ms,
    p.finished,
    p.failed,
    p.lost,
    p.cancelled,
    p.revoked
   FROM report.uncounted() p(nth, job_id, attempt, nonce, task_id, share_id, queue_id, node, cores, units, outcome, claimed_at, ended_at, hour, day, us, ends, slot_seconds, unit_seconds, wasted_slot_seconds, cpu_ms, finished, failed, lost, cancelled, revoked);

COMMENT ON VIEW public.uncounted_pieces IS 'Pieces of attempts that are not in the roll-ups yet.';

CREATE VIEW public.uncounted_tasks AS
 SELECT p.day,
    p.task_id,
    p.share_id,
    sum(p.slot_seconds) AS slot_seconds,
    sum(p.unit_seconds) AS unit_seconds,
    sum(p.wasted_slot_seconds) AS wasted_slot_seconds,
    (sum(p.cpu_ms))::bigint AS cpu_ms,
    sum(p.finished) AS finished,
    sum(p.failed) AS failed,
    sum(p.lost) AS lost,
    sum(p.cancelled) AS cancelled,
    sum(p.revoked) AS revoked
   FROM report.uncounted() p(nth, job_id, attempt, nonce, task_id, share_id, queue_id, node, cores, units, outcome, claimed_at, ended_at, hour, day, us, ends, slot_seconds, unit_seconds, wasted_slot_seconds, cpu_ms, finished, failed, lost, cancelled, revoked)
  GROUP BY p.day, p.task_id, p.share_id;

COMMENT ON VIEW public.uncounted_tasks IS 'What usage_tasks does not have yet.';

CREATE TABLE public.usage_days (
    day date NOT NULL,
    share_id integer NOT NULL,
    queue_id integer NOT NULL,
    user_name text NOT NULL,
    slot_seconds numeric NOT NULL,
    unit_seconds numeric NOT NULL,
    wasted_slot_seconds numeric NOT NULL,
    cpu_ms bigint NOT NULL,
    finished bigint NOT NULL,
    failed bigint NOT NULL,
    lost bigint NOT NULL,
    cancelled bigint NOT NULL,
    revoked bigint NOT NULL
)
WITH (fillfactor='70', autovacuum_vacuum_scale_factor='0.02');

COMMENT ON TABLE public.usage_days IS 'usage_hours by the day (UTC).';

CREATE TABLE public.usage_hours (
    hour timestamp with time zone NOT NULL,
    share_id integer NOT NULL,
    queue_id integer NOT NULL,
    user_name text NOT NULL,
    slot_seconds numeric NOT NULL,
    unit_seconds numeric NOT NULL,
    wasted_slot_seconds numeric NOT NULL,
    cpu_ms bigint NOT NULL,
    finished bigint NOT NULL,
    failed bigint NOT NULL,
    lost bigint NOT NULL,
    cancelled bigint NOT NULL,
    revoked bigint NOT NULL
)
WITH (fillfactor='70', autovacuum_vacuum_scale_factor='0.02');

COMMENT ON TABLE public.usage_hours IS 'What ended attempts cost, by the hour in which it was used, and how many ended in it. Seconds are exact to the microsecond, of units to the thousandth of that. user_name: empty where the task is not known.';

COMMENT ON COLUMN public.usage_hours.wasted_slot_seconds IS 'Those of attempts that failed, were lost or revoked.';

COMMENT ON COLUMN public.usage_hours.cpu_ms IS 'CPU time as reported, in the hour in which the attempt ended.';

CREATE TABLE public.usage_nodes (
    day date NOT NULL,
    queue_id integer NOT NULL,
    node text NOT NULL,
    slot_seconds numeric NOT NULL,
    wasted_slot_seconds numeric NOT NULL,
    finished bigint NOT NULL,
    failed bigint NOT NULL,
    lost bigint NOT NULL,
    cancelled bigint NOT NULL,
    revoked bigint NOT NULL
)
WITH (fillfactor='70', autovacuum_vacuum_scale_factor='0.02');

COMMENT ON TABLE public.usage_nodes IS 'Attempts by node and the day (UTC) in which they ended, with all that they cost.';

CREATE TABLE public.usage_state (
    only_row boolean DEFAULT true NOT NULL,
    done bigint DEFAULT 0 NOT NULL,
    upto bigint DEFAULT 0 NOT NULL,
    holders text[] DEFAULT '{}'::text[] NOT NULL,
    at timestamp with time zone DEFAULT now() NOT NULL,
    past timestamp with time zone,
    past_last timestamp with time zone,
    rated timestamp with time zone,
    CONSTRAINT usage_state_check CHECK ((done <= upto)),
    CONSTRAINT usage_state_check1 CHECK (((past IS NULL) = (past_last IS NULL))),
    CONSTRAINT usage_state_only_row_check CHECK (only_row)
)
WITH (fillfactor='10');

COMMENT ON TABLE public.usage_state IS 'Attempts with nth up to done are in the roll-ups. Those up to upto are next, as soon as none of holders (virtual transactions) is still running.';

COMMENT ON COLUMN public.usage_state.past IS 'Attempts without a number that ended in this hour or later are not counted yet; NULL: all are. past_last is the last hour that has some.';

COMMENT ON COLUMN public.usage_state.rated IS 'Hours before this one are in fairness_hours; NULL: none is.';

CREATE TABLE public.usage_tasks (
    day date NOT NULL,
    task_id bigint NOT NULL,
    share_id integer NOT NULL,
    slot_seconds numeric NOT NULL,
    unit_seconds numeric NOT NULL,
    wasted_slot_seconds numeric NOT NULL,
    cpu_ms bigint NOT NULL,
    finished bigint NOT NULL,
    failed bigint NOT NULL,
    lost bigint NOT NULL,
    cancelled bigint NOT NULL,
    revoked bigint NOT NULL
)
WITH (fillfactor='70', autovacuum_vacuum_scale_factor='0.02');

COMMENT ON TABLE public.usage_tasks IS 'usage_hours by the day (UTC) and task.';

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

CREATE VIEW report.about AS
 SELECT 4 AS version,
    u.done AS counted_up_to,
    u.at AS counted_at,
    (u.past IS NULL) AS complete,
    u.rated AS rated_up_to
   FROM public.usage_state u;

COMMENT ON VIEW report.about IS 'One row about this schema itself.';

COMMENT ON COLUMN report.about.version IS 'Rises when views or columns are added. None is ever taken away or changed.';

COMMENT ON COLUMN report.about.counted_up_to IS 'Number of the last attempt that is in the roll-ups. What came after it the usage views read one by one.';

COMMENT ON COLUMN report.about.counted_at IS 'When that was.';

COMMENT ON COLUMN report.about.complete IS 'Whether the usage views read all attempts that ended out of the roll-ups, but for the newest.';

COMMENT ON COLUMN report.about.rated_up_to IS 'Hours before this one are in share_fairness and fairness; NULL: none is.';

CREATE VIEW report.attempts AS
 SELECT a.job_id,
    a.attempt,
    a.task_id,
    t.user_name,
    s.path AS share,
    q.name AS queue,
    a.cores,
    (((a.units)::numeric / 1000.0))::numeric(20,3) AS units,
    a.priority,
    a.pilot,
    a.node,
    a.outcome,
    a.exit_code,
    a.message,
    a.claimed_at,
    a.started_at,
    a.ended_at,
    ((a.cores)::numeric * EXTRACT(epoch FROM (a.ended_at - a.claimed_at))) AS slot_seconds,
    (((a.units)::numeric / 1000.0) * EXTRACT(epoch FROM (a.ended_at - a.claimed_at))) AS unit_seconds,
    a.cpu_s AS cpu_seconds,
    a.memory_mb,
    a.outputs,
    a.report
   FROM (((public.attempts a
     LEFT JOIN public.shares s ON ((s.id = a.share_id)))
     LEFT JOIN public.queues q ON ((q.id = a.queue_id)))
     LEFT JOIN public.tasks t ON ((t.id = a.task_id)));

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

COMMENT ON COLUMN report.attempts.outcome IS 'finished, failed, lost (the lease ran out), cancelled or revoked (reclaimed, not counted as an attempt).';

COMMENT ON COLUMN report.attempts.exit_code IS 'Exit code of the process, 128 + signal when a signal ended it; NULL when unknown.';

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
 SELECT p.job_id,
    p.attempt,
    p.task_id,
    t.user_name,
    s.path AS share,
    q.name AS queue,
    p.hour,
    p.cores,
    (((p.units)::numeric / 1000.0))::numeric(20,3) AS units,
    p.slot_seconds,
    p.unit_seconds,
    p.outcome,
    p.ends,
    p.claimed_at,
    p.ended_at
   FROM (((public.attempt_pieces p
     LEFT JOIN public.shares s ON ((s.id = p.share_id)))
     LEFT JOIN public.queues q ON ((q.id = p.queue_id)))
     LEFT JOIN public.tasks t ON ((t.id = p.task_id)));

COMMENT ON VIEW report.charges IS 'How every ended attempt is split: a row an attempt, share that was charged, and hour. What the usage views are the sums of. Restrict it by ended_at: days are stored apart.';

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
     JOIN public.tasks t ON ((t.id = d.task_id)))
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
 SELECT (d.written_at - ((r.ms_ago)::double precision * '00:00:00.001'::interval)) AS at,
    d.written_at,
    d.daemon_id,
    r.lane,
    r.seq,
    r.job_id,
    q.name AS queue,
    s.path AS share,
    r.deficit AS deficit_units,
    n.path AS runner_up,
        CASE
            WHEN (r.runner_up_id <> 0) THEN r.runner_up_deficit
            ELSE NULL::real
        END AS runner_up_deficit_units,
    r.candidates,
    (((r.units)::numeric / 1000.0))::numeric(20,3) AS units,
    (((r.round)::numeric / 1000.0))::numeric(20,3) AS round_units,
    r.weight,
    NULLIF(d.version, 0) AS version,
    NULLIF((d.turn + r.turn), 0) AS turn,
    COALESCE(r.cores, d.cores[1]) AS slot_cores,
    COALESCE(r.most, d.mosts[1]) AS slot_jobs,
    COALESCE(r.unfit, d.unfits[1]) AS unfit,
    COALESCE(r.barred, d.barreds[1]) AS barred,
    (d.pull + COALESCE(r.pull, d.pulls[1])) AS pull,
    COALESCE(r.attempt, d.attempts[1]) AS attempt,
    d.level_deficits[((r.level_end - COALESCE(r.depth, d.depths[1])) + 1):r.level_end] AS level_deficits_units,
        CASE
            WHEN (r.skip_end IS NOT NULL) THEN ARRAY( SELECT k.path
               FROM (unnest(d.skipped_ids[((r.skip_end - COALESCE(r.skip, d.skips[1])) + 1):r.skip_end]) WITH ORDINALITY i(id, nth)
                 LEFT JOIN public.shares k ON ((k.id = i.id)))
              ORDER BY i.nth)
            ELSE NULL::text[]
        END AS skipped,
        CASE
            WHEN (r.skip_end IS NOT NULL) THEN ARRAY( SELECT
                    CASE i.word
                        WHEN 'f'::text THEN 'unfit'::text
                        WHEN 'm'::text THEN 'max'::text
                        WHEN 'p'::text THEN 'pool'::text
                        WHEN 'l'::text THEN 'lend'::text
                        WHEN 'b'::text THEN 'borrow'::text
                        WHEN 'r'::text THEN 'resource'::text
                        ELSE NULL::text
                    END AS "case"
               FROM string_to_table(substr(d.skipped_words, ((r.skip_end - COALESCE(r.skip, d.skips[1])) + 1), COALESCE(r.skip, d.skips[1])), NULL::text) WITH ORDINALITY i(word, nth)
              ORDER BY i.nth)
            ELSE NULL::text[]
        END AS skipped_for
   FROM ((((public.decisions d
     CROSS JOIN LATERAL ( SELECT u.ms_ago,
            u.lane,
            u.seq,
            u.job_id,
            u.queue_id,
            u.share_id,
            u.deficit,
            u.runner_up_id,
            u.runner_up_deficit,
            u.candidates,
            u.units,
            u.round,
            u.weight,
            u.turn,
            u.cores,
            u.most,
            u.unfit,
            u.barred,
            u.pull,
            u.attempt,
            u.depth,
            u.skip,
            u.nth,
            (sum(COALESCE(u.depth, d.depths[1])) OVER so_far)::integer AS level_end,
            (sum(COALESCE(u.skip, d.skips[1])) OVER so_far)::integer AS skip_end
           FROM UNNEST(d.ms_ago, d.lanes, d.seqs, d.job_ids, d.queue_ids, d.share_ids, d.deficits, d.runner_up_ids, d.runner_up_deficits, d.candidates, d.units, d.rounds, d.weights, d.turns, d.cores, d.mosts, d.unfits, d.barreds, d.pulls, d.attempts, d.depths, d.skips) WITH ORDINALITY u(ms_ago, lane, seq, job_id, queue_id, share_id, deficit, runner_up_id, runner_up_deficit, candidates, units, round, weight, turn, cores, most, unfit, barred, pull, attempt, depth, skip, nth)
          WINDOW so_far AS (ORDER BY u.nth)) r)
     LEFT JOIN public.queues q ON ((q.id = r.queue_id)))
     LEFT JOIN public.shares s ON ((s.id = r.share_id)))
     LEFT JOIN public.shares n ON ((n.id = r.runner_up_id)));

COMMENT ON VIEW report.decisions IS 'Why a job was given to whom, for as long as decisions are kept: one row a recorded claim. Restrict it by written_at: days are stored apart.';

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

COMMENT ON COLUMN report.decisions.version IS 'Version of the site that was in force at the daemon.';

COMMENT ON COLUMN report.decisions.turn IS 'Which decision of its daemon it was, claimed or not.';

COMMENT ON COLUMN report.decisions.slot_cores IS 'Cores that the slot had left to offer.';

COMMENT ON COLUMN report.decisions.slot_jobs IS 'Jobs that the pull asked for and did not have yet.';

COMMENT ON COLUMN report.decisions.unfit IS 'Leaves with ready jobs that were skipped since none of them fits the slot.';

COMMENT ON COLUMN report.decisions.barred IS 'Leaves with jobs for the slot that were skipped since a limit kept them back.';

COMMENT ON COLUMN report.decisions.pull IS 'Number of the pull at its daemon: what one pull was given has the same.';

COMMENT ON COLUMN report.decisions.attempt IS 'Attempt of the job.';

COMMENT ON COLUMN report.decisions.level_deficits_units IS 'Target minus held, before the grant, of the nodes on the path of the share that won, from the top level down to the share. Seven digits.';

COMMENT ON COLUMN report.decisions.skipped IS 'Paths of the first eight shares with ready jobs that would have got the slot before the winner, in this order.';

COMMENT ON COLUMN report.decisions.skipped_for IS 'Why each of skipped was skipped: unfit (none of its jobs fits the slot), max (of it or a share above it), pool (capacity), lend, borrow or resource.';

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

CREATE VIEW report.jobs AS
 SELECT j.id AS job_id,
    j.task_id,
    s.path AS share,
        CASE
            WHEN (l.job_id IS NOT NULL) THEN 'leased'::text
            ELSE j.state
        END AS state,
    j.priority,
    j.attempt,
    j.max_attempts,
    j.idx AS index,
    j.retry_of,
    q.name AS queue,
    l.pilot,
    j.created_at,
    NULL::timestamp with time zone AS ended_at
   FROM (((public.jobs j
     JOIN public.shares s ON ((s.id = j.share_id)))
     LEFT JOIN public.leases l ON ((l.job_id = j.id)))
     LEFT JOIN public.queues q ON ((q.id = l.queue_id)))
UNION ALL
 SELECT e.id AS job_id,
    e.task_id,
    s.path AS share,
    e.state,
    e.priority,
    e.attempt,
    e.max_attempts,
    e.idx AS index,
    e.retry_of,
    NULL::text AS queue,
    NULL::text AS pilot,
    e.created_at,
    e.ended_at
   FROM (public.ended_jobs e
     LEFT JOIN public.shares s ON ((s.id = e.share_id)));

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
 SELECT a.job_id,
    a.attempt,
    a.task_id,
    t.user_name,
    s.path AS share,
    q.name AS queue,
    a.outcome,
    a.exit_code,
    a.message,
    a.ended_at,
    a.judged
   FROM (((public.attempts a
     LEFT JOIN public.shares s ON ((s.id = a.share_id)))
     LEFT JOIN public.queues q ON ((q.id = a.queue_id)))
     LEFT JOIN public.tasks t ON ((t.id = a.task_id)))
  WHERE (a.judged IS NOT NULL);

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

CREATE VIEW report.leases AS
 SELECT l.job_id,
    l.attempt,
    l.task_id,
    t.user_name,
    s.path AS share,
    q.name AS queue,
    l.cores,
    (((l.units)::numeric / 1000.0))::numeric(20,3) AS units,
    l.priority,
    l.state,
    l.pilot,
    l.node,
    (now() - l.claimed_at) AS age,
    l.claimed_at,
    l.started_at,
    l.expires_at,
    l.cpu_s AS cpu_seconds,
    l.memory_mb,
    COALESCE(l.cancel_reason,
        CASE
            WHEN (l.reclaim_grace_s IS NOT NULL) THEN 'reclaim'::text
            ELSE NULL::text
        END) AS cancel_reason
   FROM (((public.leases l
     JOIN public.shares s ON ((s.id = l.share_id)))
     LEFT JOIN public.queues q ON ((q.id = l.queue_id)))
     LEFT JOIN public.tasks t ON ((t.id = l.task_id)));

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

COMMENT ON COLUMN report.leases.state IS 'granted, starting, running or draining.';

COMMENT ON COLUMN report.leases.pilot IS 'Pilot that holds the lease.';

COMMENT ON COLUMN report.leases.node IS 'Host of the pilot; empty when it did not say.';

COMMENT ON COLUMN report.leases.age IS 'Time since the claim.';

COMMENT ON COLUMN report.leases.claimed_at IS 'When it was claimed; charging starts here.';

COMMENT ON COLUMN report.leases.started_at IS 'When its pilot first said, in a renewal, that it runs: later than the payload began by up to the time between two renewals. NULL: it has not said so.';

COMMENT ON COLUMN report.leases.expires_at IS 'When it is lost unless its pilot renews it.';

COMMENT ON COLUMN report.leases.cpu_seconds IS 'CPU time used so far, as the pilot last reported.';

COMMENT ON COLUMN report.leases.memory_mb IS 'Peak memory so far, as the pilot last reported.';

COMMENT ON COLUMN report.leases.cancel_reason IS 'Why the pilot was told to end it; NULL when it was not.';

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
    ((((u.finished + u.failed) + u.lost) + u.cancelled) + u.revoked) AS jobs,
    u.failed AS failures,
    u.lost,
    u.finished,
    u.cancelled,
    u.revoked
   FROM (( SELECT r.day,
            r.queue_id,
            r.node,
            (r.slot_seconds + COALESCE(t.slot_seconds, (0)::numeric)) AS slot_seconds,
            (r.wasted_slot_seconds + COALESCE(t.wasted_slot_seconds, (0)::numeric)) AS wasted_slot_seconds,
            (r.finished + COALESCE(t.finished, (0)::bigint)) AS finished,
            (r.failed + COALESCE(t.failed, (0)::bigint)) AS failed,
            (r.lost + COALESCE(t.lost, (0)::bigint)) AS lost,
            (r.cancelled + COALESCE(t.cancelled, (0)::bigint)) AS cancelled,
            (r.revoked + COALESCE(t.revoked, (0)::bigint)) AS revoked
           FROM (public.usage_nodes r
             LEFT JOIN public.uncounted_nodes t USING (day, queue_id, node))
        UNION ALL
         SELECT t.day,
            t.queue_id,
            t.node,
            t.slot_seconds,
            t.wasted_slot_seconds,
            t.finished,
            t.failed,
            t.lost,
            t.cancelled,
            t.revoked
           FROM public.uncounted_nodes t
          WHERE (NOT (EXISTS ( SELECT
                   FROM public.usage_nodes r
                  WHERE ((r.day = t.day) AND (r.queue_id = t.queue_id) AND (r.node = t.node)))))) u
     LEFT JOIN public.queues q ON ((q.id = u.queue_id)));

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
 WITH moves AS (
         SELECT counters.queue_id,
            counters.shape_id,
            counters.held,
            counters.held_units
           FROM public.counters
          WHERE (counters.queue_id <> 0)
        UNION ALL
         SELECT ledger_tail_moves.queue_id,
            ledger_tail_moves.shape_id,
            (ledger_tail_moves.n * (((ledger_tail_moves.after = 'l'::text))::integer - ((ledger_tail_moves.before = 'l'::text))::integer)),
            (ledger_tail_moves.units * (((ledger_tail_moves.after = 'l'::text))::integer - ((ledger_tail_moves.before = 'l'::text))::integer))
           FROM public.ledger_tail_moves
          WHERE (ledger_tail_moves.queue_id <> 0)
        ), held AS (
         SELECT m.queue_id,
            sum(m.held) FILTER (WHERE (h_1.cores > 0)) AS jobs,
            sum((m.held * h_1.cores)) AS cores,
            sum(m.held_units) AS units
           FROM (moves m
             JOIN public.shapes h_1 ON ((h_1.id = m.shape_id)))
          GROUP BY m.queue_id
        ), used AS (
         SELECT lately.queue_id,
            sum(((((lately.finished + lately.failed) + lately.lost) + lately.cancelled) + lately.revoked)) AS attempts,
            sum(lately.failed) AS failed,
            sum(lately.lost) AS lost,
            sum(lately.slot_seconds) AS slot_seconds,
            sum(lately.wasted_slot_seconds) AS wasted
           FROM ( SELECT usage_hours.queue_id,
                    usage_hours.finished,
                    usage_hours.failed,
                    usage_hours.lost,
                    usage_hours.cancelled,
                    usage_hours.revoked,
                    usage_hours.slot_seconds,
                    usage_hours.wasted_slot_seconds
                   FROM public.usage_hours
                  WHERE (usage_hours.hour >= (date_trunc('hour'::text, now(), 'UTC'::text) - '23:00:00'::interval))
                UNION ALL
                 SELECT uncounted.queue_id,
                    uncounted.finished,
                    uncounted.failed,
                    uncounted.lost,
                    uncounted.cancelled,
                    uncounted.revoked,
                    uncounted.slot_seconds,
                    uncounted.wasted_slot_seconds
                   FROM report.uncounted() uncounted(nth, job_id, attempt, nonce, task_id, share_id, queue_id, node, cores, units, outcome, claimed_at, ended_at, hour, day, us, ends, slot_seconds, unit_seconds, wasted_slot_seconds, cpu_ms, finished, failed, lost, cancelled, revoked)
                  WHERE (uncounted.hour >= (date_trunc('hour'::text, now(), 'UTC'::text) - '23:00:00'::interval))) lately
          GROUP BY lately.queue_id
        )
 SELECT q.name AS queue,
    q.pool,
    q.state,
    q.slots,
    ((q.core_power_milli)::numeric / 1000.0) AS core_power,
    (COALESCE(h.jobs, (0)::numeric))::bigint AS held_jobs,
    (COALESCE(h.cores, (0)::numeric))::bigint AS held_cores,
    ((COALESCE(h.units, (0)::numeric) / (1000)::numeric))::numeric(20,3) AS held_units,
    (EXISTS ( SELECT
           FROM public.daemons d
          WHERE ((d.closed_at IS NULL) AND (q.id = ANY (d.pilot_queues))))) AS has_pilots,
    b.since AS black_hole_since,
    (COALESCE(u.attempts, (0)::numeric))::bigint AS attempts,
    (COALESCE(u.failed, (0)::numeric))::bigint AS failures,
    (COALESCE(u.lost, (0)::numeric))::bigint AS lost,
    round(((100.0 * (u.failed + u.lost)) / NULLIF(u.attempts, (0)::numeric)), 1) AS bad_percent,
    COALESCE(u.slot_seconds, (0)::numeric) AS slot_seconds,
    COALESCE(u.wasted, (0)::numeric) AS wasted_slot_seconds
   FROM (((public.queues q
     LEFT JOIN held h ON ((h.queue_id = q.id)))
     LEFT JOIN used u ON ((u.queue_id = q.id)))
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
            WHEN (l.told_at IS NOT NULL) THEN 'told'::text
            ELSE 'ordered'::text
        END AS state,
    r.ordered_at,
    l.told_at,
    r.closed_at,
    r.said,
    r.lost AS lost_unit_seconds,
    l.pilot
   FROM (((public.reclaims r
     LEFT JOIN public.leases l ON (((l.job_id = r.job_id) AND (l.nonce = r.nonce) AND (r.closed_at IS NULL))))
     LEFT JOIN public.shares c ON ((c.id = r.claimer_id)))
     LEFT JOIN public.shares v ON ((v.id = r.victim_id)));

COMMENT ON VIEW report.reclaims IS 'Orders to running jobs to give their units back to a share that is below its target; kept for a week.';

COMMENT ON COLUMN report.reclaims.job_id IS 'Job that was to end. It is ready again afterwards.';

COMMENT ON COLUMN report.reclaims.attempt IS 'Its attempt.';

COMMENT ON COLUMN report.reclaims.pool IS 'Resource group.';

COMMENT ON COLUMN report.reclaims.claimer IS 'Share that asked for the units.';

COMMENT ON COLUMN report.reclaims.victim IS 'Share that the job belongs to.';

COMMENT ON COLUMN report.reclaims.units IS 'Units that the job held.';

COMMENT ON COLUMN report.reclaims.grace_seconds IS 'Seconds that the pilot has, from told_at on.';

COMMENT ON COLUMN report.reclaims.state IS 'ordered, told (the pilot knows); then the outcome of the attempt: revoked, or finished, failed, lost, cancelled when that came first. unknown: nothing is recorded.';

COMMENT ON COLUMN report.reclaims.ordered_at IS 'When it was decided.';

COMMENT ON COLUMN report.reclaims.told_at IS 'When its pilot was told, of an open order; the grace counts from there.';

COMMENT ON COLUMN report.reclaims.closed_at IS 'When the lease was seen to be gone; NULL while the order is open.';

COMMENT ON COLUMN report.reclaims.said IS 'Of a revoked attempt: cancelled or failed, as the pilot said, or reclaimed when it said nothing in time.';

COMMENT ON COLUMN report.reclaims.lost_unit_seconds IS 'Units times seconds that a revoked attempt had held: work that is done again.';

COMMENT ON COLUMN report.reclaims.pilot IS 'Pilot that is to end the job, of an open order.';

CREATE VIEW report.resource_claims AS
 SELECT c.id AS claim_id,
    NULLIF(c.task_id, 0) AS task_id,
    t.user_name,
    c.key,
    c.state,
    (c.template ->> 'name'::text) AS template,
    COALESCE((c.template -> 'resources'::text), '{}'::jsonb) AS resources,
    (COALESCE(((c.template ->> 'node'::text))::boolean, false) OR ((c.task_id = 0) AND (c.node <> ''::text)) OR (COALESCE((c.template -> 'devices'::text), '{}'::jsonb) <> '{}'::jsonb)) AS on_node,
    COALESCE((c.template -> 'devices'::text), '{}'::jsonb) AS device_kinds,
    ((c.template ->> 'max_sharers'::text))::integer AS max_sharers,
    COALESCE(((c.template ->> 'gang'::text))::boolean, false) AS gang,
    COALESCE(((c.template ->> 'missing'::text))::boolean, false) AS missing,
    c.linger_s AS linger_seconds,
    q.name AS queue,
    NULLIF(c.node, ''::text) AS node,
    ARRAY( SELECT jsonb_array_elements_text(c.devices) AS jsonb_array_elements_text) AS devices,
    c.bound_at,
    s.path AS share,
    h.sharing_id,
    c.sharers,
    c.idle_since,
    c.created_at,
    c.ended_at
   FROM ((((public.resource_claims c
     LEFT JOIN public.tasks t ON ((t.id = c.task_id)))
     LEFT JOIN public.queues q ON ((q.id = c.queue_id)))
     LEFT JOIN public.shares s ON (((s.id = c.share_id) AND (c.charge_id <> 0))))
     LEFT JOIN public.shapes h ON (((h.id = c.charge_id) AND (c.share_id <> 0))));

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
         SELECT s.id AS shape_id,
            s.label,
            s.sharing_id,
            (s.cores > 0) AS of_job,
            split_part(e.key, ':'::text, 1) AS resource,
                CASE
                    WHEN (strpos(e.key, ':'::text) > 0) THEN substr(e.key, (strpos(e.key, ':'::text) + 1))
                    ELSE NULL::text
                END AS key,
            (e.value)::bigint AS units
           FROM (public.shapes s
             CROSS JOIN LATERAL jsonb_each_text(s.resources) e(key, value))
          WHERE (s.resources <> '{}'::jsonb)
        ), moves AS (
         SELECT c.share_id,
            c.shape_id,
            c.queue_id,
            c.ready,
            c.held
           FROM public.counters c
          WHERE (c.shape_id IN ( SELECT asking.shape_id
                   FROM asking))
        UNION ALL
         SELECT m.share_id,
            m.shape_id,
                CASE s.state
                    WHEN 'l'::text THEN m.queue_id
                    ELSE 0
                END AS "case",
                CASE s.state
                    WHEN 'r'::text THEN s.n
                    ELSE 0
                END AS "case",
                CASE s.state
                    WHEN 'l'::text THEN s.n
                    ELSE 0
                END AS "case"
           FROM (public.ledger_tail_moves m
             CROSS JOIN LATERAL ( VALUES (m.before,(- m.n)), (m.after,m.n)) s(state, n))
          WHERE ((m.shape_id IN ( SELECT asking.shape_id
                   FROM asking)) AND (s.state = ANY (ARRAY['r'::text, 'l'::text])))
        ), jobs AS (
         SELECT moves.share_id,
            moves.shape_id,
            moves.queue_id,
            sum(moves.ready) AS ready,
            sum(moves.held) AS held
           FROM moves
          GROUP BY moves.share_id, moves.shape_id, moves.queue_id
        ), listed AS (
         SELECT a.resource,
            a.key,
            q.name AS queue,
            COALESCE(r.split_by, 'user'::text) AS split_by,
            j.ready,
            j.held,
            a.units,
            a.of_job,
                CASE COALESCE(r.split_by, 'user'::text)
                    WHEN 'share'::text THEN sh.path
                    WHEN 'label'::text THEN a.label
                    ELSE a.sharing_id
                END AS sharing_id
           FROM ((((jobs j
             JOIN asking a USING (shape_id))
             LEFT JOIN public.site_resources r ON (((r.name = a.resource) AND (r.version = ( SELECT max(site_versions.version) AS max
                   FROM public.site_versions)))))
             LEFT JOIN public.shares sh ON ((sh.id = j.share_id)))
             LEFT JOIN public.queues q ON ((r.per_queue AND (q.id = j.queue_id))))
        )
 SELECT listed.resource,
    listed.key,
    listed.queue,
    listed.sharing_id,
    listed.split_by,
    (COALESCE(sum(listed.held) FILTER (WHERE listed.of_job), (0)::numeric))::bigint AS held_jobs,
    (sum((listed.held * (listed.units)::numeric)))::bigint AS held_units,
    (sum(listed.ready))::bigint AS ready_jobs,
    (sum((listed.ready * (listed.units)::numeric)))::bigint AS wanted_units,
    (COALESCE(sum(listed.held) FILTER (WHERE (NOT listed.of_job)), (0)::numeric))::bigint AS held_claims
   FROM listed
  GROUP BY listed.resource, listed.key, listed.queue, listed.sharing_id, listed.split_by
 HAVING ((sum(listed.held) <> (0)::numeric) OR (sum(listed.ready) <> (0)::numeric));

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

COMMENT ON COLUMN report.resource_holders.held_claims IS 'Resource claims that hold units of it: each counts as one that holds a shape without cores.';

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
            WHEN 'label'::text THEN a.label
            ELSE a.sharing_id
        END AS sharing_id,
    (e.value)::bigint AS units,
    h.job_id,
    h.claim_id,
    h.task_id,
    s.path AS share,
    h.since
   FROM (((((( SELECT l.shape_id,
            l.queue_id,
            l.share_id,
            NULLIF(l.node, ''::text) AS node,
            l.job_id,
            NULL::bigint AS claim_id,
            l.task_id,
            l.claimed_at AS since
           FROM public.leases l
        UNION ALL
         SELECT c.charge_id,
            c.queue_id,
            c.share_id,
            NULLIF(c.node, ''::text) AS "nullif",
            NULL::bigint,
            c.id,
            c.task_id,
            c.bound_at
           FROM public.resource_claims c
          WHERE ((c.charge_id <> 0) AND (c.share_id <> 0))) h
     JOIN public.shapes a ON (((a.id = h.shape_id) AND (a.resources <> '{}'::jsonb))))
     CROSS JOIN LATERAL jsonb_each_text(a.resources) e(key, value))
     LEFT JOIN public.site_resources r ON (((r.name = split_part(e.key, ':'::text, 1)) AND (r.version = ( SELECT max(site_versions.version) AS max
           FROM public.site_versions)))))
     LEFT JOIN public.shares s ON ((s.id = h.share_id)))
     LEFT JOIN public.queues q ON ((q.id = h.queue_id)));

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
        ), moves AS (
         SELECT job_counters.share_id,
            job_counters.waiting,
            job_counters.ready,
            job_counters.held,
            job_counters.held_units
           FROM public.job_counters
        UNION ALL
         SELECT job_tail_moves.share_id,
            (job_tail_moves.n * (((job_tail_moves.after = 'w'::text))::integer - ((job_tail_moves.before = 'w'::text))::integer)),
            (job_tail_moves.n * (((job_tail_moves.after = 'r'::text))::integer - ((job_tail_moves.before = 'r'::text))::integer)),
            (job_tail_moves.n * (((job_tail_moves.after = 'l'::text))::integer - ((job_tail_moves.before = 'l'::text))::integer)),
            (job_tail_moves.units * (((job_tail_moves.after = 'l'::text))::integer - ((job_tail_moves.before = 'l'::text))::integer))
           FROM public.job_tail_moves
        ), sums AS (
         SELECT u.node_id,
            sum(m.waiting) AS waiting,
            sum(m.ready) AS ready,
            sum(m.held) AS held,
            sum(m.held_units) AS held_units
           FROM (( SELECT moves.share_id,
                    sum(moves.waiting) AS waiting,
                    sum(moves.ready) AS ready,
                    sum(moves.held) AS held,
                    sum(moves.held_units) AS held_units
                   FROM moves
                  GROUP BY moves.share_id) m
             JOIN upwards u USING (share_id))
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
    r.task_id,
    s.path AS share,
        CASE
            WHEN (l.job_id IS NOT NULL) THEN 'leased'::text
            ELSE j.state
        END AS state,
    j.priority,
    j.attempt,
    j.max_attempts,
    j.idx AS index,
    j.retry_of,
    q.name AS queue,
    l.pilot,
    j.created_at,
    NULL::timestamp with time zone AS ended_at
   FROM ((((public.job_ranges r
     CROSS JOIN LATERAL ( SELECT i.id,
            i.share_id,
            i.state,
            i.priority,
            i.attempt,
            i.max_attempts,
            i.idx,
            i.retry_of,
            i.created_at
           FROM public.jobs i
          WHERE ((i.id >= r.low) AND (i.id <= r.high) AND (i.task_id = r.task_id))
          ORDER BY i.id) j)
     JOIN public.shares s ON ((s.id = j.share_id)))
     LEFT JOIN public.leases l ON ((l.job_id = j.id)))
     LEFT JOIN public.queues q ON ((q.id = l.queue_id)))
UNION ALL
 SELECT e.id AS job_id,
    e.task_id,
    s.path AS share,
    e.state,
    e.priority,
    e.attempt,
    e.max_attempts,
    e.idx AS index,
    e.retry_of,
    NULL::text AS queue,
    NULL::text AS pilot,
    e.created_at,
    e.ended_at
   FROM (public.ended_jobs e
     LEFT JOIN public.shares s ON ((s.id = e.share_id)));

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
 SELECT u.day,
    u.task_id,
    t.name,
    t.user_name,
    s.path AS share,
    u.slot_seconds,
    u.unit_seconds,
    ((((u.finished + u.failed) + u.lost) + u.cancelled) + u.revoked) AS jobs,
    u.failed AS failures,
    u.lost,
    u.finished,
    u.cancelled,
    u.revoked,
    u.wasted_slot_seconds,
    ((u.cpu_ms)::numeric * 0.001) AS cpu_seconds,
    u.share_id
   FROM ((( SELECT r.day,
            r.task_id,
            r.share_id,
            (r.slot_seconds + COALESCE(t_1.slot_seconds, (0)::numeric)) AS slot_seconds,
            (r.unit_seconds + COALESCE(t_1.unit_seconds, (0)::numeric)) AS unit_seconds,
            (r.wasted_slot_seconds + COALESCE(t_1.wasted_slot_seconds, (0)::numeric)) AS wasted_slot_seconds,
            (r.cpu_ms + COALESCE(t_1.cpu_ms, (0)::bigint)) AS cpu_ms,
            (r.finished + COALESCE(t_1.finished, (0)::bigint)) AS finished,
            (r.failed + COALESCE(t_1.failed, (0)::bigint)) AS failed,
            (r.lost + COALESCE(t_1.lost, (0)::bigint)) AS lost,
            (r.cancelled + COALESCE(t_1.cancelled, (0)::bigint)) AS cancelled,
            (r.revoked + COALESCE(t_1.revoked, (0)::bigint)) AS revoked
           FROM (public.usage_tasks r
             LEFT JOIN public.uncounted_tasks t_1 USING (day, task_id, share_id))
        UNION ALL
         SELECT t_1.day,
            t_1.task_id,
            t_1.share_id,
            t_1.slot_seconds,
            t_1.unit_seconds,
            t_1.wasted_slot_seconds,
            t_1.cpu_ms,
            t_1.finished,
            t_1.failed,
            t_1.lost,
            t_1.cancelled,
            t_1.revoked
           FROM public.uncounted_tasks t_1
          WHERE (NOT (EXISTS ( SELECT
                   FROM public.usage_tasks r
                  WHERE ((r.day = t_1.day) AND (r.task_id = t_1.task_id) AND (r.share_id = t_1.share_id)))))) u
     LEFT JOIN public.shares s ON ((s.id = u.share_id)))
     LEFT JOIN public.tasks t ON ((t.id = u.task_id)));

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
   FROM (public.tasks t
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
 SELECT u.day,
    s.path AS share,
    q.name AS queue,
    NULLIF(u.user_name, ''::text) AS user_name,
    u.slot_seconds,
    u.unit_seconds,
    ((((u.finished + u.failed) + u.lost) + u.cancelled) + u.revoked) AS jobs,
    u.failed AS failures,
    u.lost,
    u.finished,
    u.cancelled,
    u.revoked,
    u.wasted_slot_seconds,
    ((u.cpu_ms)::numeric * 0.001) AS cpu_seconds,
    u.share_id
   FROM ((( SELECT r.day,
            r.share_id,
            r.queue_id,
            r.user_name,
            (r.slot_seconds + COALESCE(t.slot_seconds, (0)::numeric)) AS slot_seconds,
            (r.unit_seconds + COALESCE(t.unit_seconds, (0)::numeric)) AS unit_seconds,
            (r.wasted_slot_seconds + COALESCE(t.wasted_slot_seconds, (0)::numeric)) AS wasted_slot_seconds,
            (r.cpu_ms + COALESCE(t.cpu_ms, (0)::bigint)) AS cpu_ms,
            (r.finished + COALESCE(t.finished, (0)::bigint)) AS finished,
            (r.failed + COALESCE(t.failed, (0)::bigint)) AS failed,
            (r.lost + COALESCE(t.lost, (0)::bigint)) AS lost,
            (r.cancelled + COALESCE(t.cancelled, (0)::bigint)) AS cancelled,
            (r.revoked + COALESCE(t.revoked, (0)::bigint)) AS revoked
           FROM (public.usage_days r
             LEFT JOIN public.uncounted_days t USING (day, share_id, queue_id, user_name))
        UNION ALL
         SELECT t.day,
            t.share_id,
            t.queue_id,
            t.user_name,
            t.slot_seconds,
            t.unit_seconds,
            t.wasted_slot_seconds,
            t.cpu_ms,
            t.finished,
            t.failed,
            t.lost,
            t.cancelled,
            t.revoked
           FROM public.uncounted_days t
          WHERE (NOT (EXISTS ( SELECT
                   FROM public.usage_days r
                  WHERE ((r.day = t.day) AND (r.share_id = t.share_id) AND (r.queue_id = t.queue_id) AND (r.user_name = t.user_name)))))) u
     LEFT JOIN public.shares s ON ((s.id = u.share_id)))
     LEFT JOIN public.queues q ON ((q.id = u.queue_id)));

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
    u.slot_seconds,
    u.unit_seconds,
    ((((u.finished + u.failed) + u.lost) + u.cancelled) + u.revoked) AS jobs,
    u.failed AS failures,
    u.lost,
    u.finished,
    u.cancelled,
    u.revoked,
    u.wasted_slot_seconds,
    ((u.cpu_ms)::numeric * 0.001) AS cpu_seconds,
    u.share_id
   FROM ((( SELECT r.hour,
            r.share_id,
            r.queue_id,
            r.user_name,
            (r.slot_seconds + COALESCE(t.slot_seconds, (0)::numeric)) AS slot_seconds,
            (r.unit_seconds + COALESCE(t.unit_seconds, (0)::numeric)) AS unit_seconds,
            (r.wasted_slot_seconds + COALESCE(t.wasted_slot_seconds, (0)::numeric)) AS wasted_slot_seconds,
            (r.cpu_ms + COALESCE(t.cpu_ms, (0)::bigint)) AS cpu_ms,
            (r.finished + COALESCE(t.finished, (0)::bigint)) AS finished,
            (r.failed + COALESCE(t.failed, (0)::bigint)) AS failed,
            (r.lost + COALESCE(t.lost, (0)::bigint)) AS lost,
            (r.cancelled + COALESCE(t.cancelled, (0)::bigint)) AS cancelled,
            (r.revoked + COALESCE(t.revoked, (0)::bigint)) AS revoked
           FROM (public.usage_hours r
             LEFT JOIN public.uncounted_hours t USING (hour, share_id, queue_id, user_name))
        UNION ALL
         SELECT t.hour,
            t.share_id,
            t.queue_id,
            t.user_name,
            t.slot_seconds,
            t.unit_seconds,
            t.wasted_slot_seconds,
            t.cpu_ms,
            t.finished,
            t.failed,
            t.lost,
            t.cancelled,
            t.revoked
           FROM public.uncounted_hours t
          WHERE (NOT (EXISTS ( SELECT
                   FROM public.usage_hours r
                  WHERE ((r.hour = t.hour) AND (r.share_id = t.share_id) AND (r.queue_id = t.queue_id) AND (r.user_name = t.user_name)))))) u
     LEFT JOIN public.shares s ON ((s.id = u.share_id)))
     LEFT JOIN public.queues q ON ((q.id = u.queue_id)));

COMMENT ON VIEW report.usage_hourly IS 'What ended attempts cost, by the hour in which it was used: a row an hour, share, queue and user. A lease that still runs is not in it yet: see report.leases.';

COMMENT ON COLUMN report.usage_hourly.hour IS 'Begin of the hour.';

COMMENT ON COLUMN report.usage_hourly.share IS 'Path of the share that was charged, piece by piece where the job went to another while it ran.';

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

ALTER TABLE ONLY public.attempts ATTACH PARTITION public.attempts_rest DEFAULT;

ALTER TABLE ONLY public.ended_jobs ATTACH PARTITION public.ended_jobs_rest DEFAULT;

ALTER TABLE ONLY public.share_samples ATTACH PARTITION public.share_samples_rest DEFAULT;

ALTER TABLE ONLY public.attempts ALTER COLUMN nth SET DEFAULT nextval('public.attempts_nth'::regclass);

ALTER TABLE ONLY public.audit
    ADD CONSTRAINT audit_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.black_holes
    ADD CONSTRAINT black_holes_pkey PRIMARY KEY (queue_id);

ALTER TABLE ONLY public.claim_devices
    ADD CONSTRAINT claim_devices_pkey PRIMARY KEY (queue_id, node, device);

ALTER TABLE ONLY public.claim_gangs
    ADD CONSTRAINT claim_gangs_pkey PRIMARY KEY (claim_id);

ALTER TABLE ONLY public.counter_lanes
    ADD CONSTRAINT counter_lanes_pkey PRIMARY KEY (daemon_id, lane);

ALTER TABLE ONLY public.counters
    ADD CONSTRAINT counters_pkey PRIMARY KEY (share_id, shape_id, queue_id);

ALTER TABLE ONLY public.daemons
    ADD CONSTRAINT daemons_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.end_counters
    ADD CONSTRAINT end_counters_pkey PRIMARY KEY (hour, share_id, shape_id, queue_id, state);

ALTER TABLE ONLY public.escrow
    ADD CONSTRAINT escrow_pkey PRIMARY KEY (daemon_id, kind, ref, pool);

ALTER TABLE ONLY public.fairness_hours
    ADD CONSTRAINT fairness_hours_pkey PRIMARY KEY (hour, pool, share_id);

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

ALTER TABLE ONLY public.inputs
    ADD CONSTRAINT inputs_pkey PRIMARY KEY (task_id, "position");

ALTER TABLE ONLY public.job_ranges
    ADD CONSTRAINT job_ranges_pkey PRIMARY KEY (task_id, high);

ALTER TABLE ONLY public.jobs
    ADD CONSTRAINT jobs_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.lanes
    ADD CONSTRAINT lanes_pkey PRIMARY KEY (lane);

ALTER TABLE ONLY public.lease_pieces
    ADD CONSTRAINT lease_pieces_pkey PRIMARY KEY (job_id, attempt, nonce, since, until);

ALTER TABLE ONLY public.lease_reports
    ADD CONSTRAINT lease_reports_pkey PRIMARY KEY (job_id);

ALTER TABLE ONLY public.leases
    ADD CONSTRAINT leases_pkey PRIMARY KEY (job_id);

ALTER TABLE ONLY public.ledger
    ADD CONSTRAINT ledger_pkey PRIMARY KEY (daemon_id, lane, seq);

ALTER TABLE ONLY public.limit_epoch
    ADD CONSTRAINT limit_epoch_pkey PRIMARY KEY (only_row);

ALTER TABLE ONLY public.limit_lanes
    ADD CONSTRAINT limit_lanes_pkey PRIMARY KEY (daemon_id, lane);

ALTER TABLE ONLY public.limits
    ADD CONSTRAINT limits_pkey PRIMARY KEY (kind, ref, pool);

ALTER TABLE ONLY public.lineage
    ADD CONSTRAINT lineage_pkey PRIMARY KEY (only_row);

ALTER TABLE ONLY public.lots
    ADD CONSTRAINT lots_pkey PRIMARY KEY (task_id, lot);

ALTER TABLE ONLY public.need_pieces
    ADD CONSTRAINT need_pieces_pkey PRIMARY KEY (task_id, place, chunk);

ALTER TABLE ONLY public.payloads
    ADD CONSTRAINT payloads_pkey PRIMARY KEY (task_id);

ALTER TABLE ONLY public.place_walk
    ADD CONSTRAINT place_walk_pkey PRIMARY KEY (only_row);

ALTER TABLE ONLY public.pulls
    ADD CONSTRAINT pulls_pkey PRIMARY KEY (key);

ALTER TABLE ONLY public.queues
    ADD CONSTRAINT queues_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.ready_ranges
    ADD CONSTRAINT ready_ranges_pkey PRIMARY KEY (share_id, shape_id, place, high);

ALTER TABLE ONLY public.reclaims
    ADD CONSTRAINT reclaims_pkey PRIMARY KEY (job_id, attempt);

ALTER TABLE ONLY public.released_pieces
    ADD CONSTRAINT released_pieces_pkey PRIMARY KEY (task_id, "position");

ALTER TABLE ONLY public.resource_capacities
    ADD CONSTRAINT resource_capacities_pkey PRIMARY KEY (name, key, queue_id);

ALTER TABLE ONLY public.resource_claims
    ADD CONSTRAINT resource_claims_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.resource_external
    ADD CONSTRAINT resource_external_pkey PRIMARY KEY (name, queue_id);

ALTER TABLE ONLY public.retries
    ADD CONSTRAINT retries_pkey PRIMARY KEY (job_id);

ALTER TABLE ONLY public.sandboxes
    ADD CONSTRAINT sandboxes_pkey PRIMARY KEY (name);

ALTER TABLE ONLY public.shapes
    ADD CONSTRAINT shapes_key_key UNIQUE (key);

ALTER TABLE ONLY public.shapes
    ADD CONSTRAINT shapes_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.share_memory
    ADD CONSTRAINT share_memory_pkey PRIMARY KEY (pool, share_id);

ALTER TABLE ONLY public.share_samples
    ADD CONSTRAINT share_samples_pkey PRIMARY KEY (share_id, pool, at);

ALTER TABLE ONLY public.share_samples_rest
    ADD CONSTRAINT share_samples_rest_pkey PRIMARY KEY (share_id, pool, at);

ALTER TABLE ONLY public.shares
    ADD CONSTRAINT shares_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.site_later
    ADD CONSTRAINT site_later_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.site_resources
    ADD CONSTRAINT site_resources_pkey PRIMARY KEY (version, name);

ALTER TABLE ONLY public.site_versions
    ADD CONSTRAINT site_versions_pkey PRIMARY KEY (version);

ALTER TABLE ONLY public.tag_rules
    ADD CONSTRAINT tag_rules_pkey PRIMARY KEY (version, "position");

ALTER TABLE ONLY public.target_floors
    ADD CONSTRAINT target_floors_pkey PRIMARY KEY (queue, share_id, class);

ALTER TABLE ONLY public.target_slots
    ADD CONSTRAINT target_slots_pkey PRIMARY KEY (queue, share_id, class);

ALTER TABLE ONLY public.task_deadlines
    ADD CONSTRAINT task_deadlines_pkey PRIMARY KEY (task_id);

ALTER TABLE ONLY public.task_lanes
    ADD CONSTRAINT task_lanes_pkey PRIMARY KEY (daemon_id, lane);

ALTER TABLE ONLY public.task_needs
    ADD CONSTRAINT task_needs_pkey PRIMARY KEY (task_id, place);

ALTER TABLE ONLY public.task_needs
    ADD CONSTRAINT task_needs_task_id_needs_id_key UNIQUE (task_id, needs_id);

ALTER TABLE ONLY public.tasks
    ADD CONSTRAINT tasks_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.tokens
    ADD CONSTRAINT tokens_hash UNIQUE (hash);

ALTER TABLE ONLY public.tokens
    ADD CONSTRAINT tokens_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.tokens
    ADD CONSTRAINT tokens_prefix UNIQUE (prefix);

ALTER TABLE ONLY public.usage_days
    ADD CONSTRAINT usage_days_pkey PRIMARY KEY (day, share_id, queue_id, user_name);

ALTER TABLE ONLY public.usage_hours
    ADD CONSTRAINT usage_hours_pkey PRIMARY KEY (hour, share_id, queue_id, user_name);

ALTER TABLE ONLY public.usage_nodes
    ADD CONSTRAINT usage_nodes_pkey PRIMARY KEY (day, queue_id, node);

ALTER TABLE ONLY public.usage_state
    ADD CONSTRAINT usage_state_pkey PRIMARY KEY (only_row);

ALTER TABLE ONLY public.usage_tasks
    ADD CONSTRAINT usage_tasks_pkey PRIMARY KEY (day, task_id, share_id);

ALTER TABLE ONLY public.user_wait_hours
    ADD CONSTRAINT user_wait_hours_pkey PRIMARY KEY (hour, user_name, bucket);

ALTER TABLE ONLY public.wait_hours
    ADD CONSTRAINT wait_hours_pkey PRIMARY KEY (hour, share_id, queue_id, bucket);

CREATE INDEX attempts_job ON ONLY public.attempts USING btree (job_id, attempt);

COMMENT ON INDEX public.attempts_job IS 'The attempts of a job, in order: history of a job, ends that are said twice. 31 bytes an attempt, 75 of WAL, 1 us.';

CREATE INDEX attempts_nth_brin ON ONLY public.attempts USING brin (nth) WITH (pages_per_range='64');

COMMENT ON INDEX public.attempts_nth_brin IS 'Attempts that are not in the roll-ups yet. BRIN: a btree would cost each end 1 us and 75 bytes of WAL.';

CREATE INDEX attempts_rest_job_id_attempt_idx ON public.attempts_rest USING btree (job_id, attempt);

CREATE INDEX attempts_rest_nth_idx ON public.attempts_rest USING brin (nth) WITH (pages_per_range='64');

COMMENT ON INDEX public.black_holes_pkey IS 'Nearly always empty.';

CREATE INDEX checkpoints_at ON ONLY public.checkpoints USING btree (at);

COMMENT ON INDEX public.checkpoints_at IS 'A replay looks for the newest before its beginning. One entry a minute.';

CREATE INDEX claim_devices_claim ON public.claim_devices USING btree (claim_id);

COMMENT ON INDEX public.claim_devices_claim IS 'Given back when the claim is unbound.';

COMMENT ON INDEX public.claim_devices_pkey IS 'Two claims that take the same device at once: one of them fails.';

COMMENT ON INDEX public.claim_gangs_pkey IS 'The gang of a claim.';

COMMENT ON INDEX public.counters_pkey IS 'Target of the fold''s upserts. Folds do not change it: they are HOT.';

CREATE INDEX decisions_daemon ON ONLY public.decisions USING btree (daemon_id, written_at, turn);

COMMENT ON INDEX public.decisions_daemon IS 'A replay reads a daemon''s records in order. One entry a second.';

CREATE INDEX decisions_written ON ONLY public.decisions USING btree (written_at);

COMMENT ON INDEX public.decisions_written IS 'Records of a stretch of time. An entry a second and daemon.';

CREATE INDEX diaries_daemon ON ONLY public.diaries USING btree (daemon_id, nth);

COMMENT ON INDEX public.diaries_daemon IS 'A replay reads a daemon''s rows in order. One entry a second.';

COMMENT ON INDEX public.end_counters_pkey IS 'Target of the fold''s upserts, which are HOT, and the hours of a window. A row an hour, kind of job and queue.';

CREATE INDEX ended_jobs_id ON ONLY public.ended_jobs USING btree (id);

COMMENT ON INDEX public.ended_jobs_id IS 'By id: GET of a job that is over, ends that are said twice. 22 bytes a job, 66 of WAL, 1 us.';

CREATE INDEX ended_jobs_rest_id_idx ON public.ended_jobs_rest USING btree (id);

CREATE INDEX ended_jobs_task ON ONLY public.ended_jobs USING btree (task_id, id);

COMMENT ON INDEX public.ended_jobs_task IS 'The ended jobs of a task: lists, failed ones that are tried again. 49 bytes a job, 93 of WAL, 1.7 us.';

CREATE INDEX ended_jobs_rest_task_id_id_idx ON public.ended_jobs_rest USING btree (task_id, id);

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

COMMENT ON INDEX public.inputs_pkey IS 'The inputs of a piece. An entry a thousand inputs.';

CREATE INDEX jobs_claims ON public.jobs USING gin (claims) WITH (fastupdate=off) WHERE (claims IS NOT NULL);

COMMENT ON INDEX public.jobs_claims IS 'Jobs of a claim. Jobs without claims are not in it. Without fastupdate, because each look would read through the list of pending entries.';

CREATE INDEX jobs_displaced ON public.jobs USING btree (share_id, shape_id, place, id) WITH (deduplicate_items=off) WHERE ((state = 'ready'::text) AND displaced);

COMMENT ON INDEX public.jobs_displaced IS 'Ready jobs of a share and shape in order that are in no range of ready_ranges. 63 bytes a job. Renewals and claims do not touch it.';

COMMENT ON INDEX public.jobs_pkey IS 'By id: claims that go by key, ends, cancel, GET of a job. 22 bytes a job, 66 of WAL: ids grow.';

COMMENT ON INDEX public.lease_pieces_pkey IS 'By attempt.';

CREATE INDEX lease_pieces_until ON public.lease_pieces USING brin (until) WITH (pages_per_range='16', autosummarize='on');

COMMENT ON INDEX public.lease_pieces_until IS 'Old ones, which purge drops.';

COMMENT ON INDEX public.lease_reports_pkey IS 'By job: renewals that bring a report, and ends of the leases that have one.';

COMMENT ON INDEX public.leases_pkey IS 'By job: at most one lease a job, renewals, ends. 66 bytes of WAL a claim, 0.6 us. There is none on expires_at: every renewal would write it, and no longer be HOT.';

COMMENT ON INDEX public.ledger_pkey IS 'By lane and position: tails, folds, purge. An entry a batch, not a job.';

CREATE INDEX payload_logs_job ON ONLY public.payload_logs USING btree (job_id, attempt);

COMMENT ON INDEX public.payload_logs_job IS 'By job: job logs, and whether an attempt has a row already.';

CREATE INDEX pulls_at ON public.pulls USING brin (at);

COMMENT ON INDEX public.pulls_at IS 'Purge by age, once a minute. BRIN: a btree would cost each pull 0.5 us and 64 bytes of WAL; what that saves the purge, which must look at more pages here, comes to the same.';

COMMENT ON INDEX public.pulls_pkey IS 'Request ids: a repeat finds its leases, and two at once meet. Pulls without one write nothing.';

CREATE UNIQUE INDEX queues_name ON public.queues USING btree (name) WHERE (removed_in IS NULL);

CREATE INDEX reclaims_open ON public.reclaims USING btree (job_id) WHERE (closed_at IS NULL);

COMMENT ON INDEX public.reclaims_open IS 'What is not settled yet; mostly empty.';

CREATE INDEX reclaims_ordered ON public.reclaims USING btree (ordered_at);

COMMENT ON INDEX public.reclaims_ordered IS 'Orders of the last minutes, for the rate; of more than a week ago, to drop them.';

COMMENT ON INDEX public.resource_capacities_pkey IS 'Set again, it replaces what was set. A few rows.';

CREATE INDEX resource_claims_changed ON public.resource_claims USING btree (changed);

COMMENT ON INDEX public.resource_claims_changed IS 'What daemons have not read yet.';

CREATE INDEX resource_claims_ended ON public.resource_claims USING btree (ended_at) WHERE (state = 'released'::text);

COMMENT ON INDEX public.resource_claims_ended IS 'Those that Purge drops.';

CREATE UNIQUE INDEX resource_claims_key ON public.resource_claims USING btree (task_id, key) WHERE ((state = ANY (ARRAY['pending'::text, 'bound'::text])) OR ((task_id = 0) AND (state = 'draining'::text)));

COMMENT ON INDEX public.resource_claims_key IS 'A claim of a task that later jobs join.';

CREATE INDEX resource_claims_live ON public.resource_claims USING btree (id) WHERE (state <> 'released'::text);

COMMENT ON INDEX public.resource_claims_live IS 'Live claims, page by page: those that are over are as many as the days that they are kept for.';

COMMENT ON INDEX public.resource_claims_pkey IS 'Claims of jobs.';

CREATE INDEX resource_claims_task ON public.resource_claims USING btree (task_id, id);

COMMENT ON INDEX public.resource_claims_task IS 'All claims of a task.';

CREATE INDEX resource_claims_tend ON public.resource_claims USING btree (tend_at, id) WHERE (tend_at IS NOT NULL);

COMMENT ON INDEX public.resource_claims_tend IS 'Claims that may need something done.';

COMMENT ON INDEX public.resource_external_pkey IS 'A report replaces the one before.';

CREATE INDEX retries_due ON public.retries USING btree (due_at, job_id) WHERE (NOT split);

COMMENT ON INDEX public.retries_due IS 'What is due.';

COMMENT ON INDEX public.retries_pkey IS 'Whether a job waits here; a resumed task leaves such jobs alone.';

CREATE INDEX retries_split ON public.retries USING btree (job_id) WHERE split;

COMMENT ON INDEX public.retries_split IS 'What is to be split; nearly always empty.';

CREATE INDEX sandboxes_same ON public.sandboxes USING btree (owner, size, checksum);

COMMENT ON INDEX public.sandboxes_same IS 'What an owner has of a size and checksum.';

CREATE INDEX sandboxes_used ON public.sandboxes USING btree (used_at);

COMMENT ON INDEX public.sandboxes_used IS 'The longest unused first.';

COMMENT ON INDEX public.share_samples_pkey IS 'The newest sample of a share, and its course.';

CREATE UNIQUE INDEX shares_path ON public.shares USING btree (path) WHERE (removed_in IS NULL);

CREATE INDEX site_later_due ON public.site_later USING btree (effective_at, id) WHERE (state = 'waiting'::text);

COMMENT ON INDEX public.site_resources_pkey IS 'Resources of a version, and one by its name.';

COMMENT ON INDEX public.target_floors_pkey IS 'Said again, it replaces what was said. A few rows a queue.';

COMMENT ON INDEX public.target_slots_pkey IS 'Said again, it replaces what was said. A few rows a queue.';

CREATE INDEX task_deadlines_live ON public.task_deadlines USING btree (COALESCE(seen_at, '-infinity'::timestamp with time zone)) WHERE (NOT over);

CREATE INDEX task_needs_needed ON public.task_needs USING btree (needs_id, task_id);

CREATE INDEX task_needs_open ON public.task_needs USING btree (task_id, place) WHERE (state = 'open'::text);

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

CREATE INDEX tasks_priority ON public.tasks USING btree (id) WHERE (priority_after IS NOT NULL);

COMMENT ON INDEX public.tasks_priority IS 'Tasks whose jobs do not all have their new priority yet; nearly always empty.';

CREATE INDEX tasks_quota ON public.tasks USING btree (id) WHERE ((quota IS NOT NULL) AND (ended_at IS NULL));

COMMENT ON INDEX public.tasks_quota IS 'Live tasks that a limit concerns, or did: most sites have no limits, and then it is empty.';

CREATE INDEX tasks_scaling ON public.tasks USING btree (id) WHERE scaling;

COMMENT ON INDEX public.tasks_scaling IS 'Tasks that have not been scaled down to the end; nearly always empty.';

CREATE INDEX tasks_scouting ON public.tasks USING btree (id) WHERE ((scouts IS NOT NULL) AND (scouted IS NULL) AND (ended_at IS NULL));

COMMENT ON INDEX public.tasks_scouting IS 'Tasks whose scouts are looked at, twice a second; nearly always few.';

CREATE INDEX tasks_sweep ON public.tasks USING btree (id) WHERE sweep;

COMMENT ON INDEX public.tasks_sweep IS 'Tasks whose verb is not through; nearly always empty.';

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

COMMENT ON INDEX public.usage_days_pkey IS 'Target of upserts, stretches of time.';

COMMENT ON INDEX public.usage_hours_pkey IS 'Target of upserts, stretches of time.';

COMMENT ON INDEX public.usage_nodes_pkey IS 'Target of upserts, stretches of time.';

COMMENT ON INDEX public.usage_tasks_pkey IS 'Target of upserts, stretches of time.';

CREATE INDEX usage_tasks_task ON public.usage_tasks USING btree (task_id);

COMMENT ON INDEX public.usage_tasks_task IS 'What a task has used.';

COMMENT ON INDEX public.user_wait_hours_pkey IS 'Target of upserts, stretches of time.';

COMMENT ON INDEX public.wait_hours_pkey IS 'Target of upserts, stretches of time.';

ALTER INDEX public.attempts_job ATTACH PARTITION public.attempts_rest_job_id_attempt_idx;

ALTER INDEX public.attempts_nth_brin ATTACH PARTITION public.attempts_rest_nth_idx;

ALTER INDEX public.ended_jobs_id ATTACH PARTITION public.ended_jobs_rest_id_idx;

ALTER INDEX public.ended_jobs_task ATTACH PARTITION public.ended_jobs_rest_task_id_id_idx;

ALTER INDEX public.share_samples_pkey ATTACH PARTITION public.share_samples_rest_pkey;

CREATE TRIGGER displace_job BEFORE UPDATE OF share_id, shape_id, place, state ON public.jobs FOR EACH ROW WHEN (((old.displaced IS NOT TRUE) AND ((((old.share_id IS DISTINCT FROM new.share_id) OR (old.shape_id IS DISTINCT FROM new.shape_id)) OR (old.place IS DISTINCT FROM new.place)) OR (old.state IS DISTINCT FROM new.state)))) EXECUTE FUNCTION public.displace_job();

CREATE TRIGGER keep_uncounted BEFORE DELETE ON public.attempts_rest FOR EACH ROW EXECUTE FUNCTION public.divvy_keep_uncounted();

CREATE TRIGGER note_job_range AFTER INSERT ON public.jobs FOR EACH ROW WHEN ((current_setting('divvy.job_ranges'::text, true) IS DISTINCT FROM 'noted'::text)) EXECUTE FUNCTION public.note_job_range();

CREATE TRIGGER piece AFTER UPDATE OF share_id ON public.leases FOR EACH ROW WHEN ((old.share_id <> new.share_id)) EXECUTE FUNCTION public.divvy_lease_piece();

CREATE TRIGGER tend_at BEFORE INSERT OR UPDATE ON public.resource_claims FOR EACH ROW EXECUTE FUNCTION public.divvy_tend_at();

ALTER TABLE ONLY public.claim_devices
    ADD CONSTRAINT claim_devices_claim_id_fkey FOREIGN KEY (claim_id) REFERENCES public.resource_claims(id);

ALTER TABLE ONLY public.claim_gangs
    ADD CONSTRAINT claim_gangs_claim_id_fkey FOREIGN KEY (claim_id) REFERENCES public.resource_claims(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.generations
    ADD CONSTRAINT generations_share_id_fkey FOREIGN KEY (share_id) REFERENCES public.shares(id);

ALTER TABLE ONLY public.queues
    ADD CONSTRAINT queues_removed_in_fkey FOREIGN KEY (removed_in) REFERENCES public.site_versions(version);

ALTER TABLE ONLY public.shapes
    ADD CONSTRAINT shapes_plain_id_fkey FOREIGN KEY (plain_id) REFERENCES public.shapes(id);

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

GRANT USAGE ON SCHEMA report TO divvy_reader;

GRANT SELECT ON TABLE report.about TO divvy_reader;

GRANT SELECT ON TABLE report.attempts TO divvy_reader;

GRANT SELECT ON TABLE report.audit TO divvy_reader;

GRANT SELECT ON TABLE report.charges TO divvy_reader;

GRANT SELECT ON TABLE report.deadlines TO divvy_reader;

GRANT SELECT ON TABLE report.decisions TO divvy_reader;

GRANT SELECT ON TABLE report.fairness TO divvy_reader;

GRANT SELECT ON TABLE report.jobs TO divvy_reader;

GRANT SELECT ON TABLE report.judgements TO divvy_reader;

GRANT SELECT ON TABLE report.leases TO divvy_reader;

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

