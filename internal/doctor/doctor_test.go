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
	"github.com/divvyhq/divvy/dispatcher/upkeep"
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
	w := &ward{T: t, db: db, Doctor: New(Config{Direct: db, Site: site.NewStore(site.Config{Pool: db}).At, Connections: 4, Silent: 15 * time.Second,
		Clock: func(context.Context, string) (time.Time, error) { return time.Now(), nil },
		Keep:  upkeep.Keep{Log: 7 * 24 * time.Hour, History: 400 * 24 * time.Hour, Samples: 30 * 24 * time.Hour},
		Deep:  true, Log: slog.New(slog.DiscardHandler)})}
	if _, err := dispatcher.Room(t.Context(), db, w.cfg.Keep); err != nil {
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
const reset = "TRUNCATE daemons, batches, outbox, held, share_counts CASCADE; UPDATE folded SET seq = 0, id = '00000000-0000-0000-0000-000000000000', at = 'epoch';" + aDaemon

// aBatch is one of a time.
func aBatch(seq int, ago string) string {
	return fmt.Sprintf("INSERT INTO batches (seq, id, after, at, by, kinds) VALUES (%d, gen_random_uuid(), gen_random_uuid(), now() - interval '%s', 1, '');", seq, ago)
}

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
	if r := w.examine(); len(r.LeftOut) != 2 || len(of(r, "recount")) != 0 {
		w.Errorf("left out %v", r.LeftOut)
	}
}

// What can be made to happen in a database of its own by a statement or two; fixed by a repair where there is one.
func found(w *ward) {
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
		"autovacuum off": {"ALTER TABLE held SET (autovacuum_enabled = false)", "autovacuum", Bad, []string{"held", "RESET (autovacuum_enabled)"}, false, "ALTER TABLE held RESET (autovacuum_enabled)"},
		"unlogged":       {"CREATE UNLOGGED TABLE pulls2 (id int)", "indexes", Bad, []string{"pulls2", "SET LOGGED"}, false, "DROP TABLE pulls2"},
		"invalid index": {"UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'tasks_live'::regclass", "indexes", Bad,
			[]string{"tasks_live of tasks", "REINDEX INDEX CONCURRENTLY tasks_live"}, false, "UPDATE pg_index SET indisvalid = true WHERE indexrelid = 'tasks_live'::regclass"},
		"no key": {"ALTER TABLE held DROP CONSTRAINT held_pkey", "schema", Bad, []string{"constraint held.held_pkey is missing", "ALTER TABLE held ADD CONSTRAINT held_pkey PRIMARY KEY (job);"},
			false, "ALTER TABLE held ADD CONSTRAINT held_pkey PRIMARY KEY (job);"},
		"no index":         {"DROP INDEX tasks_idempotency", "schema", Bad, []string{"index tasks_idempotency is missing", makeOf("tasks_idempotency")}, false, makeOf("tasks_idempotency")},
		"no index of jobs": {"DROP INDEX job_blocks_task", "schema", Bad, []string{"index job_blocks_task is missing", makeOf("job_blocks_task")}, false, makeOf("job_blocks_task")},
		"no check":         {"ALTER TABLE tasks DROP CONSTRAINT tasks_resume_state", "schema", Bad, []string{"constraint tasks.tasks_resume_state", makeOf("tasks.tasks_resume_state")}, false, makeOf("tasks.tasks_resume_state")},
		"no column":        {"ALTER TABLE daemons RENAME version TO release", "schema", Bad, []string{"column daemons.version is missing", "backup"}, false, "ALTER TABLE daemons RENAME release TO version"},
		"today": {"DO $$ BEGIN EXECUTE 'DROP TABLE share_samples' || to_char(now() AT TIME ZONE 'UTC', '_YYYYMMDD'); END $$", "partitions", Bad,
			[]string{"share_samples has no partition for today", "none can be written"}, true, ""},
		"tomorrow": {"DO $$ BEGIN EXECUTE 'DROP TABLE history' || to_char((now() AT TIME ZONE 'UTC')::date + 1, '_YYYYMMDD'); END $$", "partitions", Warn,
			[]string{"history has no partition for tomorrow"}, true, ""},
		"old day": {"SELECT divvy_make_day('share_samples', (now() AT TIME ZONE 'UTC')::date - 40)", "retention", Warn, []string{"share_samples ended 39 days ago, and 30"}, false,
			"SELECT divvy_drop_day('share_samples', now() - interval '35 days')"},
		"little room": {aBatch(900_001, "1 s"), "room", Warn, []string{"partitions for 99999 more batches", "log-room"}, true, ""},
		"no leader":   {aBatch(1, "1 minute"), "log", Bad, []string{"no daemon has appended for 1m"}, false, ""},
		"not folded":  {aBatch(1, "2 minutes") + aBatch(2, "1 s"), "fold", Warn, []string{"2m", "and 2 batches behind", "step fold"}, false, ""},
		"long ago":    {aBatch(1, "20 minutes"), "fold", Bad, []string{"20m", "and 1 batches behind"}, false, ""},
		"lost":        {"UPDATE folded SET seq = 5", "fold", Bad, []string{"up to batch 5, and it ends with 0", "backup"}, false, ""},
		"refused":     {`INSERT INTO outbox (entries, refused) VALUES ('[]', 'no such job'), ('[]', 'nor that')`, "outbox", Bad, []string{"2 rows", "no such job"}, false, ""},
		"waits":       {`INSERT INTO outbox (entries, made_at) VALUES ('[]', now() - interval '30 s')`, "outbox", Warn, []string{"waits for the log for 30"}, false, ""},
		"waits long":  {`INSERT INTO outbox (entries, made_at) VALUES ('[]', now() - interval '2 minutes')`, "outbox", Bad, []string{"waits for the log for 2m"}, false, ""},
		"miscounted":  {"INSERT INTO share_counts VALUES (1, 1, 0, 5, 0, 0)", "recount", Bad, []string{"1 rows are not what the log says", "share_counts has", "backup"}, false, ""},
		"orphan": {"INSERT INTO held VALUES (1, 1, 1, 1, 0, 1000, now(), gen_random_uuid(), 1, 1, 1, 1, -1, 0, 0, 'p', 'n', '')", "orphans", Bad,
			[]string{"1 leases have no job"}, false, ""},
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
			if err := r.Repair(ctx, w.db); err != nil {
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

func bloat(w *ward) {
	w.exec("ALTER TABLE outbox SET (autovacuum_enabled = false)")
	w.exec("INSERT INTO outbox (entries) SELECT '[]' FROM generate_series(1, 60000)")
	w.exec("DELETE FROM outbox; SELECT pg_stat_force_next_flush()")
	// The server counts a few rows of other connections late.
	w.want(w.examine(), "bloat", Warn, "outbox has 600", " dead rows beside ", "VACUUM outbox")
	w.exec("ALTER TABLE outbox RESET (autovacuum_enabled)")
	w.exec("VACUUM outbox")
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
