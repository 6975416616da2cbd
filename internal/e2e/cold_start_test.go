package e2e

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/internal/pgtest"
)

// coldSite is groups of leaves, with slots for a part of their jobs only. Weights of groups are 1 to 10, twice.
type coldSite struct {
	groups, leaves int // leaves of each group
	slots          int
}

const coldJobs = 60 // of each leaf

func (s coldSite) weight(group int) int { return group%10 + 1 }

func (s coldSite) path(group, leaf int) string { return fmt.Sprintf("G%02d/L%02d", group, leaf) }

func (s coldSite) yaml() string {
	var b strings.Builder
	b.WriteString("shares:\n")
	for g := range s.groups {
		fmt.Fprintf(&b, "  - name: G%02d\n    weight: %d\n    children:\n", g, s.weight(g))
		for l := range s.leaves {
			fmt.Fprintf(&b, "      - {name: L%02d}\n", l)
		}
	}
	fmt.Fprintf(&b, "on_no_match: reject\nqueues: [{name: Q, slots: %d}]\n", s.slots)
	return b.String()
}

// targets of all shares when each has more work than slots.
func (s coldSite) targets() map[string]float64 {
	all, sum := map[string]float64{}, 0
	for g := range s.groups {
		sum += s.weight(g)
	}
	for g := range s.groups {
		of := float64(s.slots*s.weight(g)) / float64(sum)
		all[fmt.Sprintf("G%02d", g)] = of
		for l := range s.leaves {
			all[s.path(g, l)] = of / float64(s.leaves)
		}
	}
	return all
}

func (s coldSite) task(i int) wire.TaskSpec {
	return wire.TaskSpec{Name: "cold", User: "alice", Share: s.path(i/s.leaves, i%s.leaves), Count: coldJobs, Command: []string{"true"}}
}

// A site starts cold: every leaf gets a task, and pilots pull from the first moment on, when next to none of the jobs are made.
// Once the slots are used every share is within one job of its target: no slot went past a share whose work waited to be made.
// The daemons wait for jobs to be made as long as that takes on this machine: it is the order that is judged.
func TestColdStart(t *testing.T) { coldStart(t, coldSite{groups: 20, leaves: 6, slots: 1320}) }

func TestColdStartOf900Leaves(t *testing.T) {
	pgtest.Long(t, "900 leaves and 10,000 slots, twice")
	coldStart(t, coldSite{groups: 20, leaves: 45, slots: 10_000})
}

func coldStart(t *testing.T, site coldSite) {
	t.Run("tasks of one call", func(t *testing.T) {
		site.play(t, 1, func(c *client.Client) {
			var all []wire.KeyedTask
			for i := range site.groups * site.leaves {
				all = append(all, wire.KeyedTask{Task: site.task(i)})
			}
			done, err := c.Tasks().SubmitMany(t.Context(), all)
			if err != nil {
				t.Fatal(err)
			}
			for _, one := range done {
				if one.Task == nil {
					t.Fatalf("%+v", one)
				}
			}
		})
	})
	t.Run("tasks one by one, two daemons", func(t *testing.T) {
		site.play(t, 2, func(c *client.Client) {
			for i := range site.groups * site.leaves {
				if _, err := c.Tasks().Submit(t.Context(), site.task(i), ""); err != nil {
					t.Fatal(err)
				}
			}
		})
	})
}

// play submits at the last of some daemons, and pulls at all of them at once until all slots are used.
func (s coldSite) play(t *testing.T, daemons int, submit func(*client.Client)) {
	dsn := pgtest.DSN(t)
	var all []*client.Client
	for range daemons {
		d := serve(t, dsn, "--lease-first", "10m", "--making-wait", "10m")
		c, err := client.New(client.Config{URL: d.client.URL(), Patience: -1, Timeout: 5 * time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		all = append(all, c)
	}
	apply(t, all[0], s.yaml())
	for _, c := range all {
		eventually(t, time.Minute, "the daemon knows the queue", func() bool {
			_, err := c.Pull(t.Context(), wire.PullRequest{Queue: "Q", Pilot: "p"})
			return errors.Is(err, client.ErrNoJobs)
		})
	}
	began := time.Now()
	submit(all[daemons-1])
	submitted := time.Since(began)
	held := s.pull(t, all)
	t.Logf("submitted in %.1f s; %d slots used %.1f s later", submitted.Seconds(), s.slots, (time.Since(began) - submitted).Seconds())
	s.judge(t, held)
}

// pull has 64 pilots, of which each asks for up to four jobs at a time, and says what each share holds in the end.
func (s coldSite) pull(t *testing.T, at []*client.Client) map[string]int {
	ctx, stop := context.WithTimeout(t.Context(), 4*time.Minute)
	defer stop()
	var mu sync.Mutex
	held, n := map[string]int{}, 0
	var pilots sync.WaitGroup
	for i := range 64 {
		pilots.Go(func() {
			for ctx.Err() == nil {
				reply, err := at[i%len(at)].Pull(ctx, wire.PullRequest{Queue: "Q", Pilot: fmt.Sprint("p", i), Max: 1 + i%4, WaitS: 5})
				if err != nil && !errors.Is(err, client.ErrNoJobs) && ctx.Err() == nil {
					t.Error(err)
					return
				}
				mu.Lock()
				for _, l := range reply.Leases {
					held[l.Share]++
					group, _, _ := strings.Cut(l.Share, "/")
					held[group]++
					n++
				}
				if n == s.slots {
					stop()
				}
				mu.Unlock()
			}
		})
	}
	pilots.Wait()
	if n != s.slots {
		t.Fatalf("%d of %d slots used", n, s.slots)
	}
	return held
}

// judge compares what shares hold with their targets.
func (s coldSite) judge(t *testing.T, held map[string]int) {
	targets := s.targets()
	paths := make([]string, 0, len(targets))
	for path := range targets {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	far := func(path string) float64 { return math.Abs(targets[path] - float64(held[path])) }
	slices.SortStableFunc(paths, func(a, b string) int { return cmp.Compare(far(b), far(a)) })
	wrong := 0
	for _, path := range paths {
		if far(path) <= 1 {
			break
		}
		if wrong++; wrong <= 20 {
			t.Errorf("%s holds %d, its target is %.1f", path, held[path], targets[path])
		}
	}
	t.Logf("%d of %d shares are further than one job from their targets; %s is furthest, by %.2f", wrong, len(paths), paths[0], far(paths[0]))
}
