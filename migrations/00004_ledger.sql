-- The ledger and what is folded out of it, daemons, and hard limits. One writer: dispatcher; of lineage: migrations, of task_lanes:
-- generator.

-- +goose Up
CREATE TABLE daemons (
    id           bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    host         text        NOT NULL,
    pid          int         NOT NULL,
    started_at   timestamptz NOT NULL DEFAULT now(),
    seen_at      timestamptz NOT NULL DEFAULT now(),
    closed_at    timestamptz,
    address      text        NOT NULL DEFAULT '',
    secret       text        NOT NULL DEFAULT '',
    pilot_queues int[]       NOT NULL DEFAULT '{}',
    version      text        NOT NULL DEFAULT '',
    timeline     text
);
COMMENT ON TABLE daemons IS 'One row for each start of a daemon. closed_at is the fence: a closed daemon grants nothing.';
COMMENT ON COLUMN daemons.address IS 'host:port at which other daemons reach it; empty: nowhere.';
COMMENT ON COLUMN daemons.secret IS 'What other daemons must show there; made anew at every start.';
COMMENT ON COLUMN daemons.pilot_queues IS 'Queues at which pilots asked it in the last five minutes, as of seen_at.';
COMMENT ON COLUMN daemons.version IS 'Its release, or the commit that it was built from.';
COMMENT ON COLUMN daemons.timeline IS 'The timeline of the server that its knowledge is of: on another one it grants nothing, and starts anew.';

CREATE TABLE lineage (
    only_row boolean     PRIMARY KEY DEFAULT true CHECK (only_row),
    place    text        NOT NULL,
    since    timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE lineage IS 'Where this database was when a daemon last started. Written by package migrations.';
COMMENT ON COLUMN lineage.place IS 'System identifier of the server, its timeline, the database. Another value: it was restored, copied, or failed over.';

-- A daemon that has counted a commit which a failover lost may grant nothing more by what it knows. Each promotion of a standby
-- begins a new timeline.
-- +goose StatementBegin
CREATE FUNCTION divvy_timeline() RETURNS text
LANGUAGE sql
AS $$ SELECT CASE WHEN NOT pg_is_in_recovery() THEN left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) END $$;
-- +goose StatementEnd
COMMENT ON FUNCTION divvy_timeline IS 'The timeline on which this server writes; NULL on a standby.';

-- The ledger has every change of a job's state and is insert-only. Held, ready and the counts of tasks are sums over it. A lane is
-- written by one transaction at a time, so its seq has no gaps and appears in order: a reader that has seq n of a lane has all
-- before it.
CREATE TABLE ledger (
    daemon_id bigint      NOT NULL,
    lane      int         NOT NULL,
    seq       bigint      NOT NULL,
    at        timestamptz NOT NULL DEFAULT now(),
    task_ids  bigint[]    NOT NULL,
    share_ids int[]       NOT NULL,
    shape_ids int[]       NOT NULL,
    queue_ids int[]       NOT NULL,
    befores   text[]      NOT NULL,
    afters    text[]      NOT NULL,
    ns        int[]       NOT NULL,
    units     bigint[]    NOT NULL,
    places    bigint[]    NOT NULL,
    low_ids   bigint[]    NOT NULL,
    high_ids  bigint[]    NOT NULL,
    PRIMARY KEY (daemon_id, lane, seq)
) WITH (toast_tuple_target = 8160, autovacuum_vacuum_insert_scale_factor = 0.1, autovacuum_analyze_scale_factor = 2);
COMMENT ON TABLE ledger IS 'Changes of the states of jobs, one row a transaction, as parallel arrays: ns jobs of a task went from state before to after. An array that is shorter than task_ids holds one value for all. States by letter: - none, w waiting, r ready, l leased, f finished, x failed, c cancelled. queue_ids, units: of the lease, else 0. places, low_ids, high_ids: where jobs that became ready stand.';
COMMENT ON INDEX ledger_pkey IS 'By lane and position: tails, folds, purge. An entry a batch, not a job.';

-- What the planner need not know is not sampled: autovacuum comes every ten seconds at 20,000 claims a second, and half of the 1.2
-- to 1.8 s of processor time of each visit went into these arrays. No statement asks for a value inside of them.
ALTER TABLE ledger
    ALTER task_ids SET STATISTICS 0, ALTER share_ids SET STATISTICS 0, ALTER shape_ids SET STATISTICS 0,
    ALTER queue_ids SET STATISTICS 0, ALTER befores SET STATISTICS 0, ALTER afters SET STATISTICS 0, ALTER ns SET STATISTICS 0,
    ALTER units SET STATISTICS 0, ALTER places SET STATISTICS 0, ALTER low_ids SET STATISTICS 0, ALTER high_ids SET STATISTICS 0;
-- Rows of more than about 340 moves are over 8 kB: their arrays are compressed and stored elsewhere. With 512 moves pglz takes
-- 0.85 µs of CPU a move, lz4 0.05, both for 16 bytes of WAL; stored as they are 0.1, for 30. So lz4, or as they are where the server
-- was built without it.
-- +goose StatementBegin
DO $$
DECLARE
    name text;
    how  text := CASE WHEN EXISTS (SELECT FROM pg_settings s WHERE s.name = 'default_toast_compression' AND 'lz4' = ANY (s.enumvals))
        THEN 'COMPRESSION lz4' ELSE 'STORAGE EXTERNAL' END;
BEGIN
    FOREACH name IN ARRAY ARRAY['task_ids', 'share_ids', 'shape_ids', 'queue_ids', 'units'] LOOP
        EXECUTE format('ALTER TABLE ledger ALTER %I SET %s', name, how);
    END LOOP;
END $$;
-- +goose StatementEnd

CREATE TABLE lanes (
    lane int    PRIMARY KEY,
    seq  bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 10);
COMMENT ON TABLE lanes IS 'Lanes of transactions that have none of their own, such as enqueue, cancel and apply: daemon_id 0. The row is the lock.';
INSERT INTO lanes (lane) SELECT generate_series(0, 15);

-- Each row of counters changed 30 times with no vacuum between: 99 % of the updates are HOT at fillfactor 50, and 640 kB; at 70
-- 95 % and 992 kB, at 100 7 % and 8600 kB.
CREATE TABLE counters (
    share_id   int    NOT NULL,
    shape_id   int    NOT NULL,
    queue_id   int    NOT NULL,
    waiting    bigint NOT NULL,
    ready      bigint NOT NULL,
    held       bigint NOT NULL,
    held_units bigint NOT NULL,
    PRIMARY KEY (share_id, shape_id, queue_id)
) WITH (fillfactor = 50);
COMMENT ON TABLE counters IS 'The ledger folded up to counter_lanes. Rows are few and written every few seconds.';
COMMENT ON INDEX counters_pkey IS 'Target of the fold''s upserts. Folds do not change it: they are HOT.';

CREATE TABLE counter_lanes (
    daemon_id bigint NOT NULL,
    lane      int    NOT NULL,
    seq       bigint NOT NULL,
    PRIMARY KEY (daemon_id, lane)
) WITH (fillfactor = 50);
COMMENT ON TABLE counter_lanes IS 'Up to where the ledger is counted in counters.';

CREATE TABLE task_lanes (
    daemon_id bigint NOT NULL,
    lane      int    NOT NULL,
    seq       bigint NOT NULL,
    PRIMARY KEY (daemon_id, lane)
) WITH (fillfactor = 50);
COMMENT ON TABLE task_lanes IS 'Up to where the ledger is counted in tasks.n_*.';

CREATE VIEW ledger_lanes AS
    SELECT d.id AS daemon_id, l.lane FROM daemons d CROSS JOIN generate_series(0, 4) AS l (lane)
    UNION ALL
    SELECT 0, lane FROM lanes;
COMMENT ON VIEW ledger_lanes IS 'Every lane that may have rows: five of each daemon, the last of them for claims, and the shared ones.';

CREATE VIEW ledger_tail AS
    SELECT t.*
    FROM ledger_lanes a
    LEFT JOIN counter_lanes c USING (daemon_id, lane)
    CROSS JOIN LATERAL (
        SELECT l.* FROM ledger l
        WHERE l.daemon_id = a.daemon_id AND l.lane = a.lane AND l.seq > coalesce(c.seq, 0)
        ORDER BY l.seq
    ) t;
COMMENT ON VIEW ledger_tail IS 'The part of the ledger that counters does not have yet. Counters + tail = exact at any moment.';

CREATE VIEW ledger_tail_moves AS
    SELECT t.daemon_id, t.lane, t.seq, m.task_id, m.share_id, m.shape_id, m.queue_id,
        coalesce(m.before, t.befores[1]) AS before, coalesce(m.after, t.afters[1]) AS after, coalesce(m.n, t.ns[1]) AS n, m.units
    FROM ledger_tail t
    CROSS JOIN LATERAL unnest(t.task_ids, t.share_ids, t.shape_ids, t.queue_ids, t.befores, t.afters, t.ns, t.units)
        AS m (task_id, share_id, shape_id, queue_id, before, after, n, units);
COMMENT ON VIEW ledger_tail_moves IS 'The tail, one row a move.';

CREATE VIEW job_counters AS
    SELECT * FROM counters WHERE shape_id NOT IN (SELECT id FROM shapes WHERE cores = 0);
COMMENT ON VIEW job_counters IS 'Counters of jobs, without the units that claims hold: these count as one held job of a shape without cores.';

CREATE VIEW job_tail_moves AS
    SELECT * FROM ledger_tail_moves WHERE shape_id NOT IN (SELECT id FROM shapes WHERE cores = 0);
COMMENT ON VIEW job_tail_moves IS 'Moves of jobs that counters does not have yet, without those of claims.';

CREATE TABLE limit_epoch (
    only_row boolean     PRIMARY KEY DEFAULT true CHECK (only_row),
    epoch    bigint      NOT NULL DEFAULT 0,
    version  bigint      NOT NULL DEFAULT 0,
    plans_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE limit_epoch IS 'What the limits were computed of. Each computation begins a new epoch.';
COMMENT ON COLUMN limit_epoch.version IS 'Version of the site.';
COMMENT ON COLUMN limit_epoch.plans_at IS 'The moment whose plans the limits are of: for each share the window that it falls into, or the base.';
INSERT INTO limit_epoch DEFAULT VALUES;

CREATE TABLE limits (
    kind      text        NOT NULL CHECK (kind IN ('pool', 'queue', 'share', 'target_slots', 'resource')),
    ref       text        NOT NULL,
    pool      text        NOT NULL DEFAULT '',
    cap       bigint      NOT NULL,
    free      bigint      NOT NULL,
    wanted_at timestamptz,
    PRIMARY KEY (kind, ref, pool)
) WITH (fillfactor = 50);
COMMENT ON TABLE limits IS 'Hard limits: cap = held + free + what daemons have in escrow, in thousandths of a unit (queue: of a core).';
COMMENT ON COLUMN limits.ref IS 'Id or name of the thing that is limited.';
COMMENT ON COLUMN limits.wanted_at IS 'When a daemon last found too little free; NULL: none did.';

CREATE TABLE escrow (
    daemon_id bigint NOT NULL,
    kind      text   NOT NULL,
    ref       text   NOT NULL,
    pool      text   NOT NULL DEFAULT '',
    granted   bigint NOT NULL,
    PRIMARY KEY (daemon_id, kind, ref, pool)
) WITH (fillfactor = 50);
COMMENT ON TABLE escrow IS 'Part of each limit that a daemon may hand out by itself.';

CREATE TABLE limit_lanes (
    daemon_id bigint NOT NULL,
    lane      int    NOT NULL,
    seq       bigint NOT NULL,
    PRIMARY KEY (daemon_id, lane)
);
COMMENT ON TABLE limit_lanes IS 'Up to where the held units of the present epoch are counted in limits.free.';

-- While a snapshot stays open, what died since cannot be removed, and autovacuum comes for it all the same: each visit reads all
-- that died and was inserted since. The dispatcher raises what a table waits for while it sees such a snapshot, so that each visit
-- comes after twice as much as the one before.
-- +goose StatementBegin
CREATE FUNCTION divvy_hold_vacuum(name text, dead bigint, inserted bigint) RETURNS boolean
LANGUAGE plpgsql SET lock_timeout = '20ms' SET search_path = public, pg_temp
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
-- +goose StatementEnd
COMMENT ON FUNCTION divvy_hold_vacuum IS 'Sets how many dead and inserted rows of a table autovacuum waits for beyond its factors; NULL: as configured. False when somebody, say a vacuum, is at the table: the lock would end it.';

-- +goose Down
DROP FUNCTION divvy_hold_vacuum;
DROP TABLE limit_lanes, escrow, limits, limit_epoch;
DROP VIEW job_tail_moves, job_counters, ledger_tail_moves, ledger_tail, ledger_lanes;
DROP TABLE task_lanes, counter_lanes, counters, lanes, ledger;
DROP FUNCTION divvy_timeline;
DROP TABLE lineage, daemons;
