package e2e

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/internal/pgtest"
)

// TestA5A7: with 13 units for 6 users too nobody has two fewer than another, and who had none has the next turn.
func TestA5A7(t *testing.T) {
	t.Parallel()
	c := serve(t, pgtest.DSN(t)).client
	for _, row := range []struct {
		name  string
		users int
		want  []int
	}{
		{"A5", 4, []int{2, 1, 1, 1}},
		{"A7", 5, []int{1, 1, 1, 0, 0}},
		{"13 units", 6, []int{3, 2, 2, 2, 2, 2}},
	} {
		units := 0
		for _, n := range row.want {
			units += n
		}
		apply(t, c, fmt.Sprintf(licences, units))
		var tasks []wire.Task
		for i := range row.users {
			tasks = append(tasks, submit(t, c, "A", 30, asking(fmt.Sprint(row.name, " ", i), maya)))
		}
		waitReady(t, c, map[string]int64{"A": int64(30 * row.users)})
		first, by := pullAll(t, c, users(tasks...))
		var got []int
		for _, task := range tasks {
			got = append(got, by[task.User])
		}
		if slices.SortFunc(got, func(a, b int) int { return b - a }); !slices.Equal(got, row.want) {
			t.Errorf("%s: %v, want %v", row.name, by, row.want)
		}
		finishAll(t, c, first...)
		second, next := pullAll(t, c, users(tasks...))
		for _, task := range tasks {
			if by[task.User]+next[task.User] == 0 {
				t.Errorf("%s: %s had nothing in two rounds: %v, then %v", row.name, task.User, by, next)
			}
			if _, err := c.Tasks().Kill(t.Context(), task.ID); err != nil {
				t.Fatal(err)
			}
		}
		finishAll(t, c, second...)
		eventually(t, 20*time.Second, "nothing is left of "+row.name, func() bool {
			now := standing(t, c)
			return now["A"].Ready+now["A"].Held == 0
		})
	}
}

// TestA14: the units of a pilot that is not heard of any more come back when its leases run out.
func TestA14(t *testing.T) {
	t.Parallel()
	c := serve(t, pgtest.DSN(t), "--lease-first", "5s", "--lease-ttl", "5s", "--lease-renew", "2s").client
	apply(t, c, fmt.Sprintf(licences, 3))
	alice := submit(t, c, "A", 10, asking("alice", maya))
	waitReady(t, c, map[string]int64{"A": 10})
	if leases, _ := pullAll(t, c, users(alice)); len(leases) != 3 {
		t.Fatalf("%d leases, want 3", len(leases))
	}
	eventually(t, 60*time.Second, "the units of the dead pilot", func() bool {
		parts, err := c.Resources().Get(t.Context(), "maya")
		return err == nil && len(parts) == 1 && parts[0].Held == 0 && parts[0].Free == 3
	})
	if leases, _ := pullAll(t, c, users(alice)); len(leases) != 3 {
		t.Errorf("%d leases afterwards, want 3", len(leases))
	}
}
