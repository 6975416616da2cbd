package main

import (
	"crypto/tls"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/divvyhq/divvy/cmd/divvy/servetest"
	"github.com/divvyhq/divvy/cmd/divvy/tools"

	"github.com/divvyhq/divvy/cmd/divvy/config"
	"github.com/divvyhq/divvy/cmd/divvy/fail"
	"github.com/divvyhq/divvy/internal/doctor"
	"github.com/divvyhq/divvy/internal/ownca"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/internal/pgtest"
	"github.com/divvyhq/divvy/internal/relay"
)

// The doctor beside a daemon: what it finds, and its exit code. What it cannot repair stays as it is.
func TestDoctor(t *testing.T) {
	t.Parallel()
	dsn := pgtest.DSN(t)
	_, cl := launch(t, func(c *config.Config) { c.Database.DSN = dsn })
	db, err := pg.Open(t.Context(), dsn, pg.MaxConns(1))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	look := func(args ...string) (r doctor.Report, bad []string) {
		t.Helper()
		o := divvy(t, append([]string{"doctor", "--database", dsn, "-o", "json", "--deep"}, args...)...)
		if err := json.Unmarshal([]byte(o.out), &r); err != nil {
			t.Fatalf("%v: %+v", err, o)
		}
		if want := map[doctor.Level]int{doctor.OK: fail.OK, doctor.Warn: tools.ExitWarn, doctor.Bad: tools.ExitBad}[r.Level]; o.code != want {
			t.Errorf("exit code %d of a report that is %s", o.code, r.Level)
		}
		for _, f := range r.Findings {
			if f.Level == doctor.Bad && f.Repaired == "" && f.Check != "durability" && f.Check != "connections" { // the server of tests has no fsync
				bad = append(bad, f.Check)
			}
			if f.Check == "clocks" && f.Level != doctor.OK {
				t.Errorf("the daemon's clock: %+v", f)
			}
		}
		return r, bad
	}
	servetest.Eventually(t, 20*time.Second, func() (bool, string) { // until the daemon has made its partitions
		r, bad := look()
		return len(bad) == 0 && len(r.LeftOut) == 0, strings.Join(bad, " ")
	})
	if o := divvy(t, "doctor", "--database", dsn); !strings.Contains(o.out, "Left out") {
		t.Errorf("%+v", o)
	}
	if _, err := db.Exec(t.Context(), "INSERT INTO share_counts VALUES (4711, 1, 0, 5, 0, 0)"); err != nil {
		t.Fatal(err)
	}
	if _, bad := look("--repair", "--yes"); !slices.Equal(bad, []string{"recount"}) {
		t.Errorf("bad: %v", bad)
	}
	if _, err := db.Exec(t.Context(), "DELETE FROM share_counts WHERE share = 4711"); err != nil {
		t.Fatal(err)
	}
	task, err := cl.Tasks().Submit(t.Context(), servetest.Hello(1), "")
	if err != nil {
		t.Fatal(err)
	}
	servetest.Eventually(t, 20*time.Second, func() (bool, string) {
		got, err := cl.Tasks().Get(t.Context(), task.ID)
		return err == nil && got.Jobs.Ready == 1, "no job is ready"
	})
	if o := divvy(t, "doctor", "--database", dsn, "--yes"); o.code != fail.Usage || !strings.Contains(o.err, "--repair") {
		t.Errorf("%+v", o)
	}
}

// Where no daemon has been there is nothing to look at, and nothing is made: no cluster, no table.
func TestDoctorMakesNothing(t *testing.T) {
	dir := t.TempDir()
	for _, args := range [][]string{{"doctor"}, {"doctor", "--deep", "--repair", "--yes"}, {"migrate", "status"}, {"migrate", "restored"}} {
		o := divvy(t, append(args, "--state-dir", dir)...)
		if o.code != fail.Failed || !strings.Contains(o.err, "there is no private PostgreSQL in "+dir) {
			t.Errorf("%v: %+v", args, o)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	dsn := pgtest.Empty(t)
	if o := divvy(t, "doctor", "--database", dsn); o.code != tools.ExitBad || !strings.Contains(o.out, "migrations are pending") {
		t.Errorf("%+v", o)
	}
	if o := divvy(t, "migrate", "status", "--database", dsn); o.code != fail.OK || !strings.Contains(o.out, "pending") {
		t.Errorf("%+v", o)
	}
	db, err := pg.Open(t.Context(), dsn, pg.MaxConns(1))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var n int
	if err := db.QueryRow(t.Context(), "SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace").Scan(&n); err != nil || n > 0 {
		t.Errorf("%d objects were made, %v", n, err)
	}
}

// A daemon whose port speaks TLS says so in its address, and is asked for its clock that way.
func TestDoctorAsksByTLS(t *testing.T) {
	ca := ownca.New(t, "hosts")
	certFile, keyFile := ca.Issue(t, time.Now().Add(time.Hour), ownca.Person("host")...)
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		t.Fatal(err)
	}
	daemon := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	daemon.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	daemon.StartTLS()
	defer daemon.Close()
	clock, err := tools.DaemonClock(config.Config{Access: config.Access{TLS: config.TLS{CA: ca.PEM}}})
	if err != nil {
		t.Fatal(err)
	}
	at, err := clock(t.Context(), relay.Secure+daemon.Listener.Addr().String())
	if off := time.Since(at); err != nil || off.Abs() > 30*time.Second {
		t.Errorf("%v off, %v", off, err)
	}
	if clock, err = tools.DaemonClock(config.Config{}); err != nil {
		t.Fatal(err)
	}
	if _, err := clock(t.Context(), relay.Secure+daemon.Listener.Addr().String()); err == nil {
		t.Error("a CA that nobody trusts is believed")
	}
}
