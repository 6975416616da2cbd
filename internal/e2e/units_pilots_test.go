package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/internal/pgtest"
)

// gated is a task whose jobs run until a file of theirs is there, or the test is over.
type gated struct {
	t    *testing.T
	dir  string
	next int // job whose file is made next
}

func (g *gated) command() []string {
	return []string{"sh", "-c", `while [ -e "$0" ] && [ ! -e "$0/$1" ]; do sleep 0.2; done`, g.dir, "{{.Index}}"}
}

// end lets one more job end.
func (g *gated) end() {
	g.t.Helper()
	if err := os.WriteFile(filepath.Join(g.dir, fmt.Sprint(g.next)), nil, 0o644); err != nil {
		g.t.Fatal(err)
	}
	g.next++
}

// reach waits until the users hold so many units.
func reach(t *testing.T, c *client.Client, what string, want map[string]int64) {
	t.Helper()
	var last map[string]int64
	defer func() {
		if t.Failed() {
			t.Logf("%s: %v hold units", what, last)
		}
	}()
	eventually(t, 60*time.Second, fmt.Sprint(what, ": ", want), func() bool {
		list, err := c.Resources().Get(t.Context(), "maya")
		if err != nil || len(list) != 1 {
			return false
		}
		last = map[string]int64{}
		for _, id := range list[0].IDs {
			if id.Held > 0 {
				last[id.ID] = id.Held
			}
		}
		if list[0].Held > max(10, list[0].Capacity) {
			t.Fatalf("%+v: more is held than there is", list[0])
		}
		return cmp.Equal(want, last)
	})
}

// A8, A9, A11, A12 and A14 as pilots live them: processes that run jobs, and one of which is killed.
func TestA8A9A11A12A14WithPilots(t *testing.T) {
	t.Parallel()
	c := serve(t, pgtest.DSN(t), "--lease-first", "6s", "--lease-ttl", "6s", "--lease-renew", "2s").client
	apply(t, c, fmt.Sprintf(licences, 10))
	pilot := func() *program {
		return start(t, environment(), "pilot", "--server", c.URL(), "--queue", "Q", "--slots", "14", "--work-dir", filepath.Join(t.TempDir(), "w"))
	}
	alice, bob := &gated{t: t, dir: t.TempDir()}, &gated{t: t, dir: t.TempDir()}
	ended := func(what string, task wire.Task, n int64) {
		t.Helper()
		eventually(t, 60*time.Second, fmt.Sprint(what, ": so many jobs have ended: ", n), func() bool {
			task, err := c.Tasks().Get(t.Context(), task.ID)
			return err == nil && task.Jobs.Finished == n
		})
	}
	run := func(user string, g *gated, n int64) wire.Task {
		return submit(t, c, "A", n, func(s *wire.TaskSpec) { s.Name, s.User, s.Resources, s.Command = user, user, maya, g.command() })
	}
	hers := run("alice", alice, 40)
	first := pilot()
	reach(t, c, "A9, before Bob came", map[string]int64{"alice": 10})
	run("bob", bob, 8)
	waitReady(t, c, map[string]int64{"A": 30 + 8})
	for n := range int64(5) {
		alice.end()
		reach(t, c, "A9", map[string]int64{"alice": 9 - n, "bob": n + 1})
	}
	alice.end()
	free := submit(t, c, "A", 2, nil)
	ended("A11, who needs no unit", free, 2)
	ended("A9, Alice's sixth", hers, 6) // who holds what was the same before it ended
	reach(t, c, "A9, after the sixth end", map[string]int64{"alice": 5, "bob": 5})
	if _, err := c.Resources().SetCapacity(t.Context(), "maya", "", 6, "test"); err != nil {
		t.Fatal(err)
	}
	for n := range int64(4) {
		bob.end()
		reach(t, c, "A12, nothing is granted", map[string]int64{"alice": 5, "bob": 4 - n})
	}
	bob.end() // of 6 units 5 are held: Bob has 3 jobs left
	reach(t, c, "A12, a unit is free", map[string]int64{"alice": 5, "bob": 1})
	alice.end()
	alice.end()
	reach(t, c, "A8, Bob gets what he can use", map[string]int64{"alice": 3, "bob": 3})
	if err := first.cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	reach(t, c, "A14, the pilot is dead", map[string]int64{})
	pilot()
	reach(t, c, "A14, another one came", map[string]int64{"alice": 3, "bob": 3})
}
