package main

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/dispatcher"
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
	if _, err := cl.Submit(t.Context(), hello(6), ""); err != nil {
		t.Fatal(err)
	}
	eventually(t, 20*time.Second, func() (bool, string) {
		var n int
		err := production.pool.QueryRow(t.Context(), "SELECT count(*) FROM jobs WHERE state = 'ready'").Scan(&n)
		return err == nil && n == 6, fmt.Sprint(n, " jobs are made: ", err)
	})
	dsn := restored(t, production.cfg.Database)
	onCopy := func(c *config) { c.Database, c.Generators = dsn, 0 }
	alone, pilots := startDaemon(t, onCopy)
	if len(alone.dispatcher.Seniors()) == 0 {
		t.Fatal("the copy does not have production's daemon: nothing is shown")
	}
	if alone.lead.conn.Load() != nil {
		t.Error("the daemon of the copy hands on to production")
	}
	second, _ := startDaemon(t, onCopy)
	if second.lead.conn.Load() == nil || second.lead.id != alone.dispatcher.Self().ID {
		t.Error("the second daemon of the copy does not hand on to the first")
	}
	got, err := pilots.Pull(t.Context(), client.PullRequest{Queue: "LOCAL", Pilot: "p", RequestID: "1", WaitS: 20})
	if err != nil {
		t.Fatal(err)
	}
	if by := decider(t, alone, got.Leases[0].Job); by != alone.dispatcher.Self().ID {
		t.Errorf("daemon %d decided for the copy", by)
	}
	var leased int
	if err := production.pool.QueryRow(t.Context(), "SELECT count(*) FROM leases").Scan(&leased); err != nil || leased != 0 {
		t.Errorf("production leased %d jobs: %v", leased, err)
	}
	if other, _ := startDaemon(t, func(c *config) { c.Database, c.Generators = production.cfg.Database, 0 }); other.lead.conn.Load() == nil {
		t.Error("the second daemon of production does not hand on to the first")
	}
}

// Who was killed is not called where another one has taken its place, and those that say nothing are called at the same time.
func TestDeadPredecessorsAreNotCalled(t *testing.T) {
	peer := func(id int64, port int) dispatcher.Peer {
		return dispatcher.Peer{ID: id, Address: "h:" + strconv.Itoa(port)}
	}
	got := livePeers([]dispatcher.Peer{peer(1, 80), peer(2, 81), peer(3, 82), peer(4, 81), peer(5, 83), peer(6, 81)}, "h:82")
	if want := []dispatcher.Peer{peer(1, 80), peer(5, 83), peer(6, 81)}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", got, want)
	}
	d, _ := startDaemon(t, nil)
	mute, err := net.Listen("tcp", "127.0.0.1:0") // as a daemon has it that does not serve yet
	if err != nil {
		t.Fatal(err)
	}
	defer mute.Close()
	elders := make([]dispatcher.Peer, 8)
	for i := range elders {
		elders[i] = dispatcher.Peer{ID: -int64(i), Address: mute.Addr().String()}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	began := time.Now()
	if _, conn := d.dialEldest(ctx, elders); conn != nil {
		t.Error("somebody answered")
	}
	if took, one := time.Since(began), dialWithin; took >= time.Duration(len(elders)-1)*one {
		t.Errorf("%d that say nothing took %s: they were called one by one", len(elders), took)
	}
}
