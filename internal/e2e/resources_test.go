package e2e

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/internal/pgtest"
)

const licences = `
shares: [{name: A, weight: 50}, {name: B, weight: 50}]
on_no_match: reject
queues: [{name: Q, slots: 500}]
resources:
  - {name: maya, capacity: %d}
  - {name: nuke, capacity: 3}
  - {name: table, capacity: 2, keyed: true}
`

// asking makes a task of a user whose jobs need units.
func asking(user string, units map[string]int64) func(*wire.TaskSpec) {
	return func(s *wire.TaskSpec) { s.Name, s.User, s.Resources = "of "+user, user, units }
}

var maya = map[string]int64{"maya": 1}

// users says whose tasks the jobs are of.
func users(tasks ...wire.Task) map[int64]string {
	of := map[int64]string{}
	for _, t := range tasks {
		of[t.ID] = t.User
	}
	return of
}

// pullAll pulls until there is no job, and counts by user.
func pullAll(t testing.TB, c *client.Client, of map[int64]string) (leases []wire.Lease, by map[string]int) {
	t.Helper()
	by = map[string]int{}
	for {
		reply, err := c.Pull(t.Context(), wire.PullRequest{Queue: "Q", Pilot: "p", Slot: wire.Slot{Cores: 1}})
		if errors.Is(err, client.ErrNoJobs) {
			return leases, by
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range reply.Leases {
			by[of[l.Task]]++
		}
		leases = append(leases, reply.Leases...)
	}
}

// TestA1A2A3A8: how many units each user gets, by what it wants.
func TestA1A2A3A8(t *testing.T) {
	t.Parallel()
	c := serve(t, pgtest.DSN(t)).client
	for _, row := range []struct {
		name  string
		units int
		jobs  []int64 // of u0, u1 …
		want  map[string]int
	}{
		{"A1", 10, []int64{20, 20}, map[string]int{"u0": 5, "u1": 5}},
		{"A2", 5, []int64{20, 20}, map[string]int{"u0": 3, "u1": 2}},
		{"A3", 7, []int64{20, 20, 20}, map[string]int{"u0": 3, "u1": 2, "u2": 2}},
		{"A8", 10, []int64{2, 20}, map[string]int{"u0": 2, "u1": 8}},
	} {
		apply(t, c, fmt.Sprintf(licences, row.units))
		var tasks []wire.Task
		total := int64(0)
		for i, n := range row.jobs {
			tasks = append(tasks, submit(t, c, "A", n, asking(fmt.Sprint("u", i), maya)))
			total += n
		}
		waitReady(t, c, map[string]int64{"A": total})
		leases, by := pullAll(t, c, users(tasks...))
		for id := range by { // who was served when the row before ended may be another: the odd unit is anybody's
			if odd := by[id] - row.want[id]; odd < -1 || odd > 1 || row.name == "A1" && odd != 0 || row.name == "A8" && odd != 0 {
				t.Errorf("%s: %v, want %v", row.name, by, row.want)
			}
		}
		if len(leases) != row.units {
			t.Errorf("%s: %d units of %d are used", row.name, len(leases), row.units)
		}
		for _, task := range tasks {
			if _, err := c.Tasks().Kill(t.Context(), task.ID); err != nil {
				t.Fatal(err)
			}
		}
		finishAll(t, c, leases...)
		eventually(t, 20*time.Second, "nothing is left of "+row.name, func() bool {
			now := standing(t, c)
			return now["A"].Ready+now["A"].Held == 0
		})
	}
}

// TestA9: Alice holds all, Bob comes: nothing is killed, her next five ends are his, the sixth is hers again.
func TestA9(t *testing.T) {
	t.Parallel()
	c := serve(t, pgtest.DSN(t)).client
	apply(t, c, fmt.Sprintf(licences, 10))
	alice := submit(t, c, "A", 40, asking("alice", maya))
	waitReady(t, c, map[string]int64{"A": 40})
	alices, _ := pullAll(t, c, nil)
	bob := submit(t, c, "B", 20, asking("bob", maya))
	waitReady(t, c, map[string]int64{"B": 20})
	of := users(alice, bob)
	var got []string
	for i := range 6 {
		finishAll(t, c, alices[i])
		leases, _ := pullAll(t, c, of)
		if len(leases) != 1 {
			t.Fatalf("%d leases after end %d", len(leases), i+1)
		}
		got = append(got, of[leases[0].Task])
	}
	if diff := cmp.Diff([]string{"bob", "bob", "bob", "bob", "bob", "alice"}, got); diff != "" {
		t.Errorf("who got the units that Alice gave back (-want +got):\n%s", diff)
	}
}

// TestA11: while jobs wait for a resource that is used up, others run: those that need none, or another one.
func TestA11(t *testing.T) {
	t.Parallel()
	c := serve(t, pgtest.DSN(t)).client
	apply(t, c, fmt.Sprintf(licences, 2))
	submit(t, c, "A", 20, asking("alice", maya))
	waitReady(t, c, map[string]int64{"A": 20})
	if leases, _ := pullAll(t, c, nil); len(leases) != 2 {
		t.Fatalf("%d leases, want 2", len(leases))
	}
	free := submit(t, c, "A", 3, asking("alice", nil))
	other := submit(t, c, "A", 2, asking("alice", map[string]int64{"nuke": 1}))
	waitReady(t, c, map[string]int64{"A": 18 + 5})
	leases, _ := pullAll(t, c, nil)
	by := map[int64]int{}
	for _, l := range leases {
		by[l.Task]++
	}
	if diff := cmp.Diff(map[int64]int{free.ID: 3, other.ID: 2}, by); diff != "" {
		t.Errorf("leases by task (-want +got):\n%s", diff)
	}
}

// TestA12: the capacity is cut from 10 to 6 with 10 held: nothing is killed, nothing granted until fewer than 6 are held.
func TestA12(t *testing.T) {
	t.Parallel()
	c := serve(t, pgtest.DSN(t)).client
	apply(t, c, fmt.Sprintf(licences, 10))
	submit(t, c, "A", 40, asking("alice", maya))
	waitReady(t, c, map[string]int64{"A": 40})
	running, _ := pullAll(t, c, nil)
	if _, err := c.Resources().SetCapacity(t.Context(), "maya", "", 6, "test"); err != nil {
		t.Fatal(err)
	}
	finishAll(t, c, running[:4]...)
	if leases, _ := pullAll(t, c, nil); len(leases) != 0 {
		t.Errorf("%d leases while 6 of 6 units are held", len(leases))
	}
	finishAll(t, c, running[4])
	if leases, _ := pullAll(t, c, nil); len(leases) != 1 {
		t.Errorf("%d leases with one unit free", len(leases))
	}
	list, err := c.Resources().Get(t.Context(), "maya")
	if err != nil || len(list) != 1 || list[0].Held != 6 || list[0].Capacity != 6 || list[0].FileCapacity != 10 || len(list[0].IDs) != 1 {
		t.Errorf("%+v, %v", list, err)
	}
}

// TestA13: a job that needs two resources gets both or neither, keeps nobody back who needs one of them, and has them
// reserved when it was passed over for long.
func TestA13(t *testing.T) {
	t.Parallel()
	c := serve(t, pgtest.DSN(t)).client
	apply(t, c, strings.Replace(fmt.Sprintf(licences, 3), "{name: nuke,", "{name: nuke, max_bypass: 4,", 1))
	both := submit(t, c, "A", 4, asking("alice", map[string]int64{"maya": 1, "nuke": 2}))
	one := submit(t, c, "B", 40, asking("bob", map[string]int64{"nuke": 1}))
	waitReady(t, c, map[string]int64{"A": 4, "B": 40})
	of := users(both, one)
	leases, by := pullAll(t, c, of)
	if by["alice"] > 1 || by["bob"] != 3-2*by["alice"] {
		t.Fatalf("%v of 3 units of nuke", by)
	}
	passed, most := 0, 40
	for got := by["alice"] > 0; !got; { // one unit comes free at a time, and she needs two at once
		finishAll(t, c, leases[0])
		next, by := pullAll(t, c, of)
		leases, got = append(leases[1:], next...), by["alice"] > 0
		if passed += by["bob"]; passed > most || len(leases) == 0 {
			t.Fatalf("%d jobs went before the one that needs two units, %d leases are left", passed, len(leases))
		}
	}
}

// TestA15: 100 units, 30 of them used outside of the site: 70 may be held. A name that there is not is refused.
func TestA15(t *testing.T) {
	t.Parallel()
	c := serve(t, pgtest.DSN(t)).client
	apply(t, c, fmt.Sprintf(licences, 80))
	if _, err := c.Resources().ReportExternal(t.Context(), "maya", "", 100, 30); err != nil {
		t.Fatal(err)
	}
	carol := submit(t, c, "A", 100, asking("carol", maya))
	waitReady(t, c, map[string]int64{"A": 100})
	if leases, _ := pullAll(t, c, users(carol)); len(leases) != 70 {
		t.Errorf("%d leases, want 70: of 100 units 30 are used outside, and 80 are ours at the most", len(leases))
	}
	spec := wire.TaskSpec{Name: "x", User: "alice", Share: "A", Count: 1, Command: []string{"true"}, Resources: map[string]int64{"mayo": 1}}
	if _, err := c.Tasks().Submit(t.Context(), spec, ""); err == nil {
		t.Error("a task that asks for a resource which there is not was taken")
	}
}

// TestKeysOfAFamily: each key has the units of its family.
func TestKeysOfAFamily(t *testing.T) {
	t.Parallel()
	c := serve(t, pgtest.DSN(t)).client
	apply(t, c, fmt.Sprintf(licences, 1))
	submit(t, c, "A", 5, asking("bob", map[string]int64{"table:orders": 1}))
	submit(t, c, "B", 5, asking("bob", map[string]int64{"table:lines": 1}))
	waitReady(t, c, map[string]int64{"A": 5, "B": 5})
	if leases, _ := pullAll(t, c, nil); len(leases) != 4 {
		t.Errorf("%d leases, want two of each table", len(leases))
	}
}
