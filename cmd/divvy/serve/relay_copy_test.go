package serve

import (
	"fmt"
	"os/exec"
	"testing"
	"time"

	"github.com/divvyhq/divvy/cmd/divvy/servetest"

	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/cmd/divvy/config"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/internal/pgtest"
)

// restored is a copy of a database, by pg_dump and psql, in the same cluster: with the same system identifier.
func restored(t *testing.T, from string) string {
	t.Helper()
	to := pgtest.Empty(t)
	dump, _, err := pg.Program(t.Context(), "pg_dump")
	if err != nil {
		t.Fatal(err)
	}
	psql, _, err := pg.Program(t.Context(), "psql")
	if err != nil {
		t.Fatal(err)
	}
	file := t.TempDir() + "/dump.sql"
	for _, c := range []*exec.Cmd{
		exec.CommandContext(t.Context(), dump, "-d", from, "-f", file),
		exec.CommandContext(t.Context(), psql, "-q", "-v", "ON_ERROR_STOP=1", "-d", to, "-f", file),
	} {
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", c.Path, err, out)
		}
	}
	return to
}

// A daemon on a copy of the database finds the addresses and secrets of production's daemons there. It hands nothing on to them, and
// they lease nothing to its pilots; daemons of production go on handing on to each other, and so do those of the copy.
func TestCopyDoesNotReachProduction(t *testing.T) {
	production, cl := startDaemon(t, nil)
	if _, err := cl.Tasks().Submit(t.Context(), servetest.Hello(6), ""); err != nil {
		t.Fatal(err)
	}
	servetest.Eventually(t, 20*time.Second, func() (bool, string) {
		var n int
		err := production.pool.QueryRow(t.Context(), "SELECT coalesce(sum(high - low + 1), 0)::int FROM idle_ranges").Scan(&n)
		return err == nil && n == 6, fmt.Sprint(n, " jobs are made: ", err)
	})
	dsn := restored(t, production.cfg.Database.DSN)
	onCopy := func(c *config.Config) { c.Database.DSN, c.Generators = dsn, 0 }
	alone, pilots := startDaemon(t, onCopy)
	if alone.company.member.Daemons() < 2 {
		t.Fatal("the copy does not have production's daemon: nothing is shown")
	}
	servetest.Eventually(t, 10*time.Second, func() (bool, string) { return alone.dispatcher.Leads(), "the daemon of the copy does not lead there" })
	second, _ := startDaemon(t, onCopy)
	if !follows(second, alone) {
		t.Error("the second daemon of the copy does not follow the first")
	}
	got, err := pilots.Pull(t.Context(), wire.PullRequest{Queue: "LOCAL", Pilot: "p", RequestID: "1", WaitS: 20})
	if err != nil {
		t.Fatal(err)
	}
	if by := decider(t, alone, got.Leases[0].Job); by != alone.company.member.Self().ID {
		t.Errorf("daemon %d decided for the copy", by)
	}
	var leased int
	if err := production.pool.QueryRow(t.Context(), "SELECT count(*) FROM report.attempts").Scan(&leased); err != nil || leased != 0 {
		t.Errorf("production leased %d jobs: %v", leased, err)
	}
	if other, _ := startDaemon(t, func(c *config.Config) { c.Database.DSN, c.Generators = production.cfg.Database.DSN, 0 }); !follows(other, production) {
		t.Error("the second daemon of production does not follow the first")
	}
}
