-- What the planner need not know is not sampled, and what changes steadily is sampled rarely.
--
-- At 20,000 claims a second autovacuum finds a tenth of every hot table changed whenever it looks, every ten seconds, and
-- samples 30,000 rows of each, one table after the other: 1.2 to 1.8 s of processor time, half of it for the arrays of the
-- ledger, in one go. Claims that come meanwhile share two cores with it. No statement asks for a value inside of these
-- columns, and the shares, shapes and queues that it does ask for are spread alike from one minute to the next.

-- +goose Up
-- +goose StatementBegin
DO $$
DECLARE
    tab regclass;
    col name;
BEGIN
    FOR tab, col IN
        SELECT a.attrelid, a.attname
        FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_type y ON y.oid = a.atttypid
        WHERE c.oid IN ('ledger'::regclass, 'jobs'::regclass, 'leases'::regclass, 'attempts'::regclass, 'ended_jobs'::regclass)
            AND a.attnum > 0 AND NOT a.attisdropped
            AND (y.typcategory = 'A' OR a.attname IN ('outputs', 'message', 'log_tail', 'said', 'nonce', 'cpu_s', 'memory_mb'))
    LOOP
        EXECUTE format('ALTER TABLE %s ALTER %I SET STATISTICS 0', tab, col); -- its partitions too
    END LOOP;
    FOR tab IN
        SELECT i.inhrelid FROM pg_inherits i WHERE i.inhparent IN ('attempts'::regclass, 'ended_jobs'::regclass)
    LOOP
        EXECUTE format('ALTER TABLE %s SET (autovacuum_analyze_scale_factor = 0.5)', tab);
    END LOOP;
END $$;
-- +goose StatementEnd
ALTER TABLE jobs SET (autovacuum_analyze_scale_factor = 0.5);
ALTER TABLE leases SET (autovacuum_analyze_scale_factor = 2);
ALTER TABLE ledger SET (autovacuum_analyze_scale_factor = 2);

-- As before (00005), and new days sample as their parent does.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION divvy_make_days(parent text, first date, days int) RETURNS int
LANGUAGE plpgsql SET lock_timeout = '200ms' SET timezone = 'UTC' SET search_path = public, pg_temp
AS $$
DECLARE
    key      text;
    rest     regclass;
    day      date;
    name     text;
    col      name;
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
            FOR col IN SELECT attname FROM pg_attribute WHERE attrelid = parent::regclass AND attnum > 0 AND NOT attisdropped AND attstattarget = 0 LOOP
                EXECUTE format('ALTER TABLE %I ALTER %I SET STATISTICS 0', name, col);
            END LOOP;
            IF parent = 'decisions' THEN
                EXECUTE format('ALTER TABLE %I SET (autovacuum_enabled = false, toast.autovacuum_enabled = false)', name);
            ELSE
                EXECUTE format('ALTER TABLE %I SET (autovacuum_vacuum_insert_scale_factor = 0.5, autovacuum_freeze_min_age = 0,
                    autovacuum_analyze_scale_factor = 0.5)', name);
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

-- +goose Down
-- The function stays: it makes the same days where nothing says STATISTICS 0.
-- +goose StatementBegin
DO $$
DECLARE
    tab regclass;
    col name;
BEGIN
    FOR tab, col IN
        SELECT a.attrelid, a.attname FROM pg_attribute a
        WHERE a.attrelid IN ('ledger'::regclass, 'jobs'::regclass, 'leases'::regclass, 'attempts'::regclass, 'ended_jobs'::regclass)
            AND a.attnum > 0 AND NOT a.attisdropped AND a.attstattarget = 0
    LOOP
        EXECUTE format('ALTER TABLE %s ALTER %I SET STATISTICS -1', tab, col);
    END LOOP;
    FOR tab IN
        SELECT i.inhrelid FROM pg_inherits i WHERE i.inhparent IN ('attempts'::regclass, 'ended_jobs'::regclass)
    LOOP
        EXECUTE format('ALTER TABLE %s RESET (autovacuum_analyze_scale_factor)', tab);
    END LOOP;
END $$;
-- +goose StatementEnd
ALTER TABLE jobs RESET (autovacuum_analyze_scale_factor);
ALTER TABLE leases RESET (autovacuum_analyze_scale_factor);
ALTER TABLE ledger RESET (autovacuum_analyze_scale_factor);
