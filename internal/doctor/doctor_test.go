package doctor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/internal/access"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/internal/pgtest"
	"github.com/divvyhq/divvy/internal/site"
	"github.com/divvyhq/divvy/migrations"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// ward is a database with its doctor.
type ward struct {
	*testing.T
	db *pgxpool.Pool
	*Doctor
}

// newWard is a database where all is well: its days are made, and a daemon was heard of.
func newWard(t *testing.T) *ward {
	t.Helper()
	db := pgtest.Open(t)
	w := &ward{T: t, db: db, Doctor: New(Config{Direct: db, Load: site.NewStore(site.Config{Pool: db}).Version, Connections: 4, DaemonTTL: 15 * time.Second,
		Clock: func(context.Context, string) (time.Time, error) { return time.Now(), nil },
		Keep:  dispatcher.Config{Keep: 7 * 24 * time.Hour, KeepHistory: 400 * 24 * time.Hour, KeepSamples: 30 * 24 * time.Hour},
		Deep:  true, Log: slog.New(slog.DiscardHandler)})}
	if _, err := dispatcher.MakeDays(t.Context(), db, w.cfg.Log, nil); err != nil {
		t.Fatal(err)
	}
	w.exec(aDaemon)
	return w
}

const aDaemon = "INSERT INTO daemons (id, host, pid, address) OVERRIDING SYSTEM VALUE VALUES (1, 'h', 1, 'h:1');"

// with is the ward for a subtest: a database of its own for each would take minutes.
func (w *ward) with(t *testing.T) *ward {
	d := *w.Doctor
	d.patience = usualPatience
	return &ward{T: t, db: w.db, Doctor: &d}
}

// reset undoes what the cases of TestDoctor do, but for what they undo themselves.
const aJob = "INSERT INTO jobs (id, task_id, share_id, shape_id, place, priority, max_attempts, idx) VALUES (5, 7, 1, 1, 0, 0, 3, 0);"

const reset = "TRUNCATE daemons, jobs, job_ranges, ready_ranges, ledger, counters, counter_lanes, limits, limit_lanes, escrow, leases, resource_claims, tasks, shares, queues, shapes, share_samples_rest CASCADE;" +
	"UPDATE limit_epoch SET version = 0;" + aDaemon

func TestDoctor(t *testing.T) {
	w := newWard(t)
	for name, test := range map[string]func(*ward){"well": well, "found": found, "bloat": bloat, "locks": locks, "snapshots": snapshots, "clocks": clocks, "settings": settings} {
		t.Run(name, func(t *testing.T) { test(w.with(t)) })
	}
}

// makeOf is what the doctor advises where an object of the schema is missing.
func makeOf(name string) string {
	for _, o := range migrations.Objects() {
		if o.Name == name {
			return o.Make
		}
	}
	panic("the schema has no " + name)
}

func (w *ward) exec(sql string) {
	w.Helper()
	if _, err := w.db.Exec(w.Context(), sql); err != nil {
		w.Fatalf("%s: %v", sql, err)
	}
}

func (w *ward) examine() *Report {
	w.Helper()
	r, err := w.Examine(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	return r
}

// of are the findings of one check.
func of(r *Report, check string) (found []Finding) {
	for _, f := range r.Findings {
		if f.Check == check {
			found = append(found, f)
		}
	}
	return found
}

// want fails unless a finding of the check has the level, and says all of this.
func (w *ward) want(r *Report, check string, level Level, says ...string) Finding {
	w.Helper()
	found := of(r, check)
	for _, f := range found {
		whole := true
		for _, s := range says {
			whole = whole && strings.Contains(f.Found+"\n"+f.Do, s)
		}
		if f.Level == level && whole {
			if level != OK && f.Do == "" {
				w.Errorf("%+v says nothing about what to do", f)
			}
			return f
		}
	}
	w.Errorf("%s: want %s %q, found %+v", check, level, says, found)
	return Finding{}
}

func well(w *ward) {
	r := w.examine()
	for _, f := range r.Findings {
		if f.Level != OK && f.Check != "durability" && f.Check != "connections" { // the server of tests has fsync off, and many users
			w.Errorf("%+v", f)
		}
	}
	if len(r.Findings) != len(w.checks())+1 || len(r.LeftOut) != 0 || r.Repairable() {
		w.Errorf("%d findings, left out %v, repairable %t", len(r.Findings), r.LeftOut, r.Repairable())
	}
	w.cfg.Deep = false
	if r := w.examine(); len(r.LeftOut) != 5 || len(of(r, "recount")) != 0 {
		w.Errorf("left out %v", r.LeftOut)
	}
}

// What can be made to happen in a database of its own by a statement or two; fixed by a repair where there is one.
func found(w *ward) {
	const site = "INSERT INTO shares (id, name, path, position, leaf, weight) OVERRIDING SYSTEM VALUE VALUES (1, 'A', 'A', 0, true, 1); INSERT INTO queues (id, name, position) OVERRIDING SYSTEM VALUE VALUES (1, 'q', 0);" +
		"INSERT INTO shapes (id, key, cores, memory_mb, disk_mb, walltime_s, labels, queues, label) OVERRIDING SYSTEM VALUE VALUES (1, 'k', 1, 1, 1, 1, '{}', '{}', '');"
	for name, c := range map[string]struct {
		breaks string
		check  string
		level  Level
		says   []string
		fixed  bool
		undo   string
	}{
		"no daemon":      {"DELETE FROM daemons", "daemons", Warn, []string{"no daemon runs"}, false, ""},
		"silent":         {"UPDATE daemons SET seen_at = now() - interval '1 hour'", "daemons", Bad, []string{"daemon 1 on h was not heard of for 1h0m"}, false, ""},
		"one is silent":  {"INSERT INTO daemons (id, host, pid, seen_at) OVERRIDING SYSTEM VALUE VALUES (2, 'g', 1, now() - interval '1 minute')", "daemons", Warn, []string{"daemon 2 on g"}, false, ""},
		"two releases":   {"INSERT INTO daemons (id, host, pid, version) OVERRIDING SYSTEM VALUE VALUES (2, 'g', 1, 'v0.9.0')", "daemons", Warn, []string{"one before v0.9 (daemon 1 on h), v0.9.0 (daemon 2 on g)", "upgrade"}, false, ""},
		"pending":        {"DELETE FROM migrations WHERE version_id = 9", "migrations", Bad, []string{"1 of", "pending"}, false, "INSERT INTO migrations (version_id, is_applied) VALUES (9, true)"},
		"old":            {"ALTER TABLE migrations RENAME TO goose_db_version", "migrations", Bad, []string{"0.10 or before", "export"}, false, "ALTER TABLE goose_db_version RENAME TO migrations"},
		"newer":          {"INSERT INTO migrations (version_id, is_applied) VALUES (9999, true)", "migrations", Warn, []string{"9999"}, false, "DELETE FROM migrations WHERE version_id = 9999"},
		"autovacuum off": {"ALTER TABLE leases SET (autovacuum_enabled = false)", "autovacuum", Bad, []string{"leases", "RESET (autovacuum_enabled)"}, false, "ALTER TABLE leases RESET (autovacuum_enabled)"},
		"unlogged":       {"CREATE UNLOGGED TABLE pulls2 (id int)", "indexes", Bad, []string{"pulls2", "SET LOGGED"}, false, "DROP TABLE pulls2"},
		"invalid index": {"UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'jobs_displaced'::regclass", "indexes", Bad,
			[]string{"jobs_displaced of jobs", "REINDEX INDEX CONCURRENTLY jobs_displaced"}, false, "UPDATE pg_index SET indisvalid = true WHERE indexrelid = 'jobs_displaced'::regclass"},
		"no key": {"ALTER TABLE leases DROP CONSTRAINT leases_pkey", "schema", Bad, []string{"constraint leases.leases_pkey is missing", "ALTER TABLE leases ADD CONSTRAINT leases_pkey PRIMARY KEY (job_id);"},
			false, "ALTER TABLE leases ADD CONSTRAINT leases_pkey PRIMARY KEY (job_id);"},
		"no index":         {"DROP INDEX tasks_idempotency", "schema", Bad, []string{"index tasks_idempotency is missing", makeOf("tasks_idempotency")}, false, makeOf("tasks_idempotency")},
		"no index of jobs": {"DROP INDEX jobs_displaced", "schema", Bad, []string{"index jobs_displaced is missing", makeOf("jobs_displaced")}, false, makeOf("jobs_displaced")},
		"no trigger": {"ALTER TABLE jobs DISABLE TRIGGER displace_job", "schema", Bad, []string{"trigger jobs.displace_job is missing, or is not in force"}, false,
			"ALTER TABLE jobs ENABLE TRIGGER displace_job"},
		"no check":  {"ALTER TABLE jobs DROP CONSTRAINT jobs_state_check", "schema", Bad, []string{"constraint jobs.jobs_state_check", makeOf("jobs.jobs_state_check")}, false, makeOf("jobs.jobs_state_check")},
		"no column": {"ALTER TABLE daemons RENAME version TO release", "schema", Bad, []string{"column daemons.version is missing", "backup"}, false, "ALTER TABLE daemons RENAME release TO version"},
		"today": {"DO $$ BEGIN EXECUTE 'DROP TABLE decisions' || to_char(now() AT TIME ZONE 'UTC', '_YYYYMMDD'); END $$", "partitions", Bad,
			[]string{"decisions has no partition for today", "lost"}, true, ""},
		"tomorrow": {"DO $$ BEGIN EXECUTE 'DROP TABLE attempts' || to_char((now() AT TIME ZONE 'UTC')::date + 1, '_YYYYMMDD'); END $$", "partitions", Warn,
			[]string{"attempts has no partition for tomorrow"}, true, ""},
		"old day": {"SELECT divvy_make_days('share_samples', (now() AT TIME ZONE 'UTC')::date - 40, 1)", "retention", Warn, []string{"share_samples ended 39 days ago, and 30"}, false, "SELECT divvy_drop_days('share_samples', (now() AT TIME ZONE 'UTC')::date - 35)"},
		"strays": {site + "INSERT INTO share_samples_rest (at, pool, share_id, target, held, ready) VALUES (now() - interval '2000 days', 'p', 1, 0, 0, 0)", "default partitions",
			Warn, []string{"1 rows lie in share_samples_rest"}, true, "SELECT divvy_drop_days('share_samples', (now() AT TIME ZONE 'UTC')::date - 35)"},
		"not folded": {`INSERT INTO ledger (daemon_id, lane, seq, at, task_ids, share_ids, shape_ids, queue_ids, befores, afters, ns, units, places, low_ids, high_ids)
			VALUES (1, 0, 1, now() - interval '2 minutes', '{0}', '{1}', '{1}', '{0}', '{-}', '{r}', '{0}', '{0}', '{0}', '{0}', '{0}')`, "ledger", Warn,
			[]string{"the counters are 2m", "step fold"}, false, ""},
		"below zero": {"INSERT INTO counters VALUES (1, 1, 0, 0, -5, 0, 0)", "counters", Bad, []string{"1 rows"}, true, ""},
		"miscounted": {"INSERT INTO counters VALUES (1, 1, 0, 0, 5, 0, 0)", "recount", Bad, []string{"1 rows of the counters are wrong", "lacks 0 waiting, -5 ready"}, true, ""},
		"too free":   {"INSERT INTO limits (kind, ref, cap, free) VALUES ('pool', 'x', 10, 11)", "limits", Bad, []string{"of 1 limits more is free"}, true, ""},
		"too free with escrow": {"INSERT INTO limits (kind, ref, cap, free) VALUES ('pool', 'x', 10, 8); INSERT INTO escrow (daemon_id, kind, ref, pool, granted) VALUES (1, 'pool', 'x', '', 3)",
			"limits", Bad, []string{"of 1 limits more is free"}, true, ""},
		"escrow of nobody": {"INSERT INTO limits (kind, ref, cap, free) VALUES ('pool', 'x', 10, 0); INSERT INTO escrow (daemon_id, kind, ref, pool, granted) VALUES (7, 'pool', 'x', '', 10)",
			"limits", Bad, []string{"1 parts of limits"}, true, ""},
		"limits of another version": {"UPDATE limit_epoch SET version = 3", "limits", Bad, []string{"version 3 of the site, and 0"}, true, ""},
		"ran out":                   {site + lease + "UPDATE leases SET expires_at = now() - interval '2 minutes'", "leases", Warn, []string{"1 leases ran out up to 2m"}, false, ""},
		"orphan":                    {site + lease, "orphans", Bad, []string{"1 leases have no job"}, false, ""},
		"stray":                     {site + aJob + "UPDATE job_ranges SET low = 6, high = 6", "ranges", Bad, []string{"1 live jobs are in no range of their task", "and 0 in none", "job 5 of task 7"}, true, ""},
		"out of line":               {site + aJob + "UPDATE jobs SET displaced = NULL", "ranges", Bad, []string{"0 live jobs are in no range of their task", "and 1 in none", "job 5 of task 7"}, true, ""},
		"stuck": {"INSERT INTO resource_claims (task_id, key, template, linger_s, unplaced) VALUES (1, 'k', '{}', 1, true); ALTER TABLE resource_claims DISABLE TRIGGER USER;" +
			"UPDATE resource_claims SET tend_at = now() - interval '10 minutes'", "claims", Bad, []string{"1 claims should have been looked at up to 10m"}, false, "ALTER TABLE resource_claims ENABLE TRIGGER USER"},
		"sharers": {"INSERT INTO resource_claims (task_id, key, template, linger_s, state, sharers) VALUES (1, 'k', '{}', 1, 'bound', 2)", "recount of claims", Bad,
			[]string{"has 2, and 0 leases"}, true, ""},
		"task": {site + "INSERT INTO tasks (id, name, user_name, spec, state, share_id, n_ready) OVERRIDING SYSTEM VALUE VALUES (7, 'n', 'u', '{}', 'running', 1, 3)", "recount of tasks", Bad, []string{"in tasks 7 "}, false, ""},
	} {
		w.Run(name, func(t *testing.T) {
			w := w.with(t)
			w.exec(reset)
			w.exec(c.breaks)
			defer w.exec(reset + c.undo)
			r := w.examine()
			f := w.want(r, c.check, c.level, c.says...)
			if (f.Repair != "") != c.fixed || r.Level != Bad && c.level == Bad {
				w.Fatalf("%+v of a report that is %s: repairable %t wanted", f, r.Level, c.fixed)
			}
			if !c.fixed {
				return
			}
			if again := of(w.examine(), c.check); again[0].Level == OK {
				w.Fatal("a look has repaired it")
			}
			ctx := access.With(w.Context(), &access.Caller{Name: "ann", Role: access.Admin})
			noted := access.AuditFilter{What: "doctor.repair", Object: c.check, Limit: 1000}
			before, err := access.NewStore(w.db).Audit(ctx, noted)
			if err != nil {
				w.Fatal(err)
			}
			if err := r.Repair(ctx); err != nil {
				w.Fatal(err)
			}
			after, err := access.NewStore(w.db).Audit(ctx, noted)
			if err != nil || len(after) <= len(before) || after[0].Who != "ann" || after[0].After == "" {
				w.Errorf("the audit has %+v of it: %v", after, err)
			}
			if f := of(r, c.check)[0]; f.Repaired == "" {
				w.Errorf("not repaired: %+v", f)
			}
			w.want(w.examine(), c.check, OK)
		})
	}
}

const lease = "INSERT INTO leases (job_id, attempt, nonce, task_id, share_id, shape_id, queue_id, units, cores, priority, pilot, node, daemon_id, expires_at, ttl_s)" +
	" VALUES (1, 1, 1, 1, 1, 1, 1, 1000, 1, 0, 'p', 'n', 1, now() + interval '1 hour', 60);"

func bloat(w *ward) {
	w.exec("ALTER TABLE pulls SET (autovacuum_enabled = false)")
	w.exec("INSERT INTO pulls (key, body_hash, job_ids, nonces) SELECT gen_random_uuid(), '', '{}', '{}' FROM generate_series(1, 60000)")
	w.exec("DELETE FROM pulls; SELECT pg_stat_force_next_flush()")
	w.want(w.examine(), "bloat", Warn, "pulls has 60000 dead rows beside 0 live ones", "VACUUM pulls")
	w.exec("ALTER TABLE pulls RESET (autovacuum_enabled)")
	w.exec("VACUUM pulls")
}

func locks(w *ward) {
	holder, err := w.db.Begin(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	defer holder.Rollback(context.Background())
	if err := pg.Lock(w.Context(), holder, pg.LockFold, 0); err != nil {
		w.Fatal(err)
	}
	if _, err := holder.Exec(w.Context(), "SELECT pg_current_xact_id(); UPDATE daemons SET pid = 2"); err != nil {
		w.Fatal(err)
	}
	ctx, cancel := context.WithCancel(w.Context())
	ended := make(chan error, 2)
	wait := func(sql string) {
		go func() {
			_, err := w.db.Exec(ctx, sql)
			ended <- err
		}()
	}
	wait(fmt.Sprintf("SELECT pg_advisory_xact_lock(%d, 0)", pg.LockFold))
	wait("UPDATE daemons SET pid = 3")
	defer func() { cancel(); <-ended; <-ended }()
	w.patience = patience{} // nobody may wait at all
	for {
		r := w.examine()
		if len(of(r, "locks")) < 4 {
			if ctx.Err() != nil {
				w.Fatal("nobody waits")
			}
			continue
		}
		w.want(r, "locks", Warn, "holds the lock fold", "pg_terminate_backend(")
		w.want(r, "locks", Bad, "waits for the lock fold", "held by session")
		w.want(r, "locks", Bad, "a statement of session", "idle in transaction")
		break
	}
	w.patience = usualPatience
	w.want(w.examine(), "locks", OK)
}

func snapshots(w *ward) {
	tx, err := w.db.Begin(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	defer tx.Rollback(context.Background())
	if _, err := tx.Exec(w.Context(), "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; SELECT FROM jobs"); err != nil {
		w.Fatal(err)
	}
	w.want(w.examine(), "snapshots", OK)
	w.patience.snapshotWarn = 0
	w.want(w.examine(), "snapshots", Warn, "divvy-test, idle in transaction) holds a snapshot since")
	w.patience.snapshotBad = 0
	w.want(w.examine(), "snapshots", Bad, "holds a snapshot since")
}

func clocks(w *ward) {
	for off, level := range map[time.Duration]Level{time.Second: OK, 10 * time.Second: Warn, -time.Minute: Bad} {
		w.cfg.Clock = func(context.Context, string) (time.Time, error) { return time.Now().Add(off), nil }
		r := w.examine()
		if level == OK {
			w.want(r, "clocks", OK)
			continue
		}
		w.want(r, "clocks", level, "the clock of daemon 1 on h is", "NTP")
	}
	w.cfg.Clock = func(_ context.Context, address string) (time.Time, error) {
		return time.Time{}, errors.New("no route to " + address)
	}
	w.want(w.examine(), "clocks", Warn, "no route to h:1", "firewall")
}

// What is set for a whole server: the doctor is told of another one.
func settings(w *ward) {
	w.examine()
	for name, c := range map[string]struct {
		change func(*server)
		found  func() ([]Finding, error)
		level  Level
		says   string
	}{
		"fsync":          {func(s *server) { s.Fsync = false }, func() ([]Finding, error) { return w.durability(w.Context()) }, Bad, "fsync"},
		"pages":          {func(s *server) { s.FullPageWrites = false }, func() ([]Finding, error) { return w.durability(w.Context()) }, Bad, "full_page_writes"},
		"asynchronous":   {func(s *server) { s.SynchronousCommit = "off" }, func() ([]Finding, error) { return w.durability(w.Context()) }, Warn, "may be lost"},
		"not at standby": {func(s *server) { s.SynchronousCommit, s.SynchronousStandbys = "local", "x" }, func() ([]Finding, error) { return w.durability(w.Context()) }, Warn, "may be lost"},
		"full":           {func(s *server) { s.Connections = s.MaxConnections - s.Reserved - 1 }, func() ([]Finding, error) { return w.Doctor.connections(w.Context()) }, Bad, "are in use"},
		"too few":        {func(s *server) { s.MaxConnections, s.Connections = 20, 1 }, func() ([]Finding, error) { return w.Doctor.connections(w.Context()) }, Warn, "1 daemons of up to 4 connections want 19"},
		"no autovacuum":  {func(s *server) { s.Autovacuum = false }, func() ([]Finding, error) { return w.Doctor.autovacuum(w.Context()) }, Bad, "grow for ever"},
		"wraparound":     {func(s *server) { s.Xids = 1_900_000_000 }, func() ([]Finding, error) { return w.Doctor.autovacuum(w.Context()) }, Bad, "1900000000 transactions old"},
		"blind":          {func(s *server) { s.ReadsAll = false }, func() ([]Finding, error) { return w.Doctor.locks(w.Context()) }, Warn, "pg_read_all_stats"},
		"standby":        {func(s *server) { s.Standby = true }, func() ([]Finding, error) { return []Finding{w.server.finding()}, nil }, Bad, "read-write"},
		"old":            {func(s *server) { s.Major = 14 }, func() ([]Finding, error) { return []Finding{w.server.finding()}, nil }, Bad, "older than 15"},
	} {
		w.Run(name, func(t *testing.T) {
			w.server = server{Version: "15.1", Major: 15, Fsync: true, FullPageWrites: true, SynchronousCommit: "on", Autovacuum: true, TrackCounts: true,
				MaxConnections: 100, Reserved: 3, ReadsAll: true, Xids: 5, FreezeMaxAge: 200_000_000}
			check := func() []Finding {
				t.Helper()
				found, err := c.found()
				if err != nil {
					t.Fatal(err)
				}
				return found
			}
			for _, f := range check() {
				if f.Level != OK {
					t.Fatalf("before: %+v", f)
				}
			}
			c.change(&w.server)
			if found := check(); len(found) != 1 || found[0].Level != c.level || !strings.Contains(found[0].Found+found[0].Do, c.says) {
				t.Errorf("%+v, want %s: %s", found, c.level, c.says)
			}
		})
	}
}

// Database and database_direct must be the same.
func TestSessions(t *testing.T) {
	w := newWard(t)
	w.cfg.Pool = pgtest.Open(t)
	w.want(w.examine(), "sessions", Bad, "not the same database")
}

// A database that was never migrated: each check says so, none ends the look.
func TestEmpty(t *testing.T) {
	db, err := pg.Open(t.Context(), pgtest.Empty(t), pg.MaxConns(3))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	r, err := New(Config{Direct: db, Deep: true, Connections: 4}).Examine(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w := &ward{T: t}
	w.want(r, "migrations", Bad, "pending")
	w.want(r, "recount", Bad, "a table is missing", "migrate up")
}
