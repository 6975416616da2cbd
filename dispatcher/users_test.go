package dispatcher

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/shares"
)

// fair is a leaf that gives turns to users.
func fair(name string, weight float64) shares.Spec {
	s := node(name, weight)
	s.Plan.Within = shares.FairUser
	return s
}

// heldByUser counts the leases of every user of a share.
func (f *fixture) heldByUser(share string) map[string]int {
	f.t.Helper()
	rows, err := f.pool.Query(context.Background(), `SELECT t.user_name, sum(l.cores)::int FROM leases l JOIN tasks t ON t.id = l.task_id
		JOIN shares s ON s.id = l.share_id WHERE s.path = $1 GROUP BY 1`, share)
	if err != nil {
		f.t.Fatal(err)
	}
	held := map[string]int{}
	var user string
	var n int
	if _, err := pgx.ForEachRow(rows, []any{&user, &n}, func() error { held[user] = n; return nil }); err != nil {
		f.t.Fatal(err)
	}
	return held
}

// settledUsers checks that the shape of every lease, and of every job that does not wait, is the one of its share.
func (f *fixture) settledUsers() {
	f.t.Helper()
	for _, table := range []string{"leases", "(SELECT * FROM jobs WHERE state = 'ready')"} {
		var wrong int
		f.scan(&wrong, `SELECT count(*) FROM `+table+` x JOIN tasks t ON t.id = x.task_id JOIN shares s ON s.id = x.share_id JOIN shapes h ON h.id = x.shape_id
			WHERE h.user_name IS DISTINCT FROM CASE WHEN s.plan->>'within' = 'fair_user' THEN t.user_name END`)
		if wrong != 0 {
			f.t.Errorf("%d rows of %s have the shape of another user", wrong, table)
		}
	}
}

// Whoever holds least is next, among equals the one with the job of the highest priority, then with the oldest; who wants less
// than an equal part has all that he wants, and the others share what he leaves. Beside it a share goes by age alone.
func TestFairTurnAmongUsers(t *testing.T) {
	f := newFixture(t, []shares.Spec{fair("A", 1), node("B", 1)}, slots("q", 100))
	d := f.daemon()
	f.enqueue(batch{share: "A", n: 20, user: "alice"})
	f.enqueue(batch{share: "A", n: 2, user: "bob", priority: -5})
	f.enqueue(batch{share: "A", n: 20, user: "carol", need: job.Requirements{MemoryMB: 5}})
	f.enqueue(batch{share: "A", n: 20, user: "carol", priority: 1})
	f.enqueue(batch{share: "B", n: 3, user: "alice"})
	f.enqueue(batch{share: "B", n: 3, user: "bob"})
	var got []string
	of := []string{"alice", "bob", "carol", "carol+", "B", "B"}
	for range 24 {
		got = append(got, of[pull1(t, d, "q").Task-1])
	}
	mine := slices.DeleteFunc(slices.Clone(got), func(who string) bool { return who == "B" })
	want := "carol+ alice bob carol+ alice bob carol+ alice carol+ alice carol+ alice carol+ alice carol+ alice carol+ alice"
	if s := strings.Join(mine, " "); s != want {
		t.Errorf("got  %s\nwant %s", s, want)
	}
	if held := f.heldByUser("B"); held["alice"] != 3 || held["bob"] != 3 {
		t.Errorf("B: %v", held)
	}
	f.settledUsers()
	f.recount()
}

// Where there are fewer slots than users they are served in turn, whoever's jobs are older; and a daemon that starts, or has a new
// version of the site, knows who was served.
func TestFairTurnOfFewSlots(t *testing.T) {
	f := newFixture(t, []shares.Spec{fair("A", 1)}, slots("q", 1))
	d := f.daemon()
	for _, user := range []string{"alice", "bob", "carol"} {
		f.enqueue(batch{share: "A", n: 9, user: user})
	}
	var got []int64
	serve := func() {
		l := pull1(t, d, "q")
		got = append(got, l.Task)
		finish(t, d, Finished, l)
	}
	for range 4 {
		serve()
	}
	f.apply(func(v *shares.Version) { v.Number++ })
	f.refreshed(d)
	serve()
	d = f.daemon()
	for range 4 {
		serve()
	}
	if want := []int64{1, 2, 3, 1, 2, 3, 1, 2, 3}; !slices.Equal(got, want) {
		t.Errorf("served %v, want %v", got, want)
	}
	f.recount()
}

// What a user holds are units, not jobs: who runs wide ones gets fewer.
func TestFairTurnGoesByUnits(t *testing.T) {
	f := newFixture(t, []shares.Spec{fair("A", 1)}, slots("q", 40))
	d := f.daemon()
	f.enqueue(batch{share: "A", n: 30, user: "alice", cores: 4})
	f.enqueue(batch{share: "A", n: 30, user: "bob"})
	for range 10 {
		if _, err := d.Pull(t.Context(), PullRequest{Queue: "q", Pilot: "p", Slot: job.Slot{Cores: 4}, WaitS: 5}); err != nil {
			t.Fatal(err)
		}
	}
	if held := f.heldByUser("A"); held["alice"] != 8 || held["bob"] != 8 { // two jobs, and eight
		t.Errorf("%v", held)
	}
	f.recount()
}

// Resources go by their sharing IDs, and whoever they keep back does not keep back the others.
func TestFairTurnWithResources(t *testing.T) {
	f := newFixture(t, []shares.Spec{fair("A", 1)}, slots("q", 100))
	f.apply(func(v *shares.Version) {
		v.Resources = []shares.Resource{{Name: "lic", Capacity: 3, Split: shares.Split{By: shares.SplitByUser}}}
	})
	d := f.daemon()
	f.enqueue(batch{share: "A", n: 20, user: "alice", need: job.Requirements{Resources: map[string]int64{"lic": 1}, SharingID: "alice"}})
	f.enqueue(batch{share: "A", n: 20, user: "bob"})
	for range 12 {
		pull1(t, d, "q")
	}
	if held := f.heldByUser("A"); held["alice"] != 3 || held["bob"] != 9 {
		t.Errorf("%v", held)
	}
	f.recount()
}

// Pools are divided apart: what a user holds in one is nothing in another.
func TestFairTurnInEachPool(t *testing.T) {
	gpu := slots("gpu", 10)
	gpu.Pool = "gpu"
	f := newFixture(t, []shares.Spec{fair("A", 1)}, slots("q", 10), gpu)
	d := f.daemon()
	f.enqueue(batch{share: "A", n: 10, user: "alice", need: job.Requirements{Queues: []string{"q"}}})
	for range 10 {
		pull1(t, d, "q")
	}
	f.enqueue(batch{share: "A", n: 10, user: "alice"})
	f.enqueue(batch{share: "A", n: 10, user: "bob"})
	if _, err := d.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 10 {
		pull1(t, d, "gpu")
	}
	if held := f.heldByUser("A"); held["alice"] != 15 || held["bob"] != 5 {
		t.Errorf("%v", held)
	}
}

// within gives a leaf another order.
func (f *fixture) within(path, how string) {
	f.t.Helper()
	f.apply(func(v *shares.Version) {
		leaf, _ := v.Tree.ByPath(path)
		tree := *v.Tree
		tree.Nodes = slices.Clone(tree.Nodes)
		tree.Nodes[leaf].Plan.Within = how
		v.Tree, v.Number = &tree, v.Number+1
	})
}

// tend has all jobs get the shapes of their shares.
func (f *fixture) tend(daemons ...*Dispatcher) {
	f.t.Helper()
	for _, d := range daemons {
		eventually(f.t, "all jobs have the shapes of their shares", func() bool {
			if _, err := d.Refresh(context.Background()); err != nil {
				f.t.Fatal(err)
			}
			if _, err := d.TendUsers(context.Background()); err != nil {
				f.t.Fatal(err)
			}
			d.mu.Lock()
			defer d.mu.Unlock()
			return len(d.state.misfits()) == 0 && d.state.version.Number == f.version.Number
		})
	}
	f.settledUsers()
	f.recount()
}

// within is turned on and off under jobs that are ready and that run, and tasks go to the share and leave it: each time TendUsers
// gives all the shapes that they should have, and what runs counts for its user.
func TestWithinChanges(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1), fair("B", 1)}, slots("q", 100))
	d := f.daemon()
	f.enqueue(batch{share: "A", n: 30, user: "alice"})
	f.enqueue(batch{share: "A", n: 30, user: "bob"})
	for range 10 {
		pull1(t, d, "q") // of alice: hers are older
	}
	f.within("A", shares.FairUser)
	f.tend(d)
	for range 10 {
		pull1(t, d, "q")
	}
	if held := f.heldByUser("A"); held["alice"] != 10 || held["bob"] != 10 {
		t.Errorf("%v", held)
	}
	f.moveTask(TaskMove{Task: 1, To: f.shareID("B"), Running: true, Limit: 7})
	f.tend(d)
	f.within("A", shares.Fifo)
	f.tend(d)
	f.moveTask(TaskMove{Task: 1, To: f.shareID("A"), Running: true, Limit: 100})
	f.tend(d)
	for range 5 {
		pull1(t, d, "q")
	}
	if held := f.heldByUser("A"); held["alice"] != 15 || held["bob"] != 10 {
		t.Errorf("first come, first served: %v", held)
	}
}

// Explain names the user whose turn it is, and both parts; with three times as many users in the share as the slots could serve.
func TestExplainSaysWhoseTurn(t *testing.T) {
	f := newFixture(t, []shares.Spec{fair("A", 1)}, slots("q", 8))
	d := f.daemon()
	f.enqueue(batch{share: "A", n: 4, user: "alice"})
	for range 3 {
		pull1(t, d, "q")
	}
	f.enqueue(batch{share: "A", n: 8, user: "bob"})
	last := f.enqueue(batch{share: "A", n: 1, user: "alice", priority: 9})
	if _, err := d.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	e := explained(t, d, last[0], func(e Explanation) bool { return e.Gate == GateUser })
	g := gateAt(e, "q")
	if g.FirstUser == nil || g.FirstUser.User != "bob" || g.FirstUser.Held != 0 || g.OwnUser.User != "alice" || g.OwnUser.Held != 3 {
		t.Errorf("%+v %+v", g.FirstUser, g.OwnUser)
	}
	if !strings.Contains(g.Reason, "bob comes first (holds 0, part ") || !strings.Contains(e.Summary, "its user is not") {
		t.Errorf("%s: %s", g.Reason, e.Summary)
	}
	if e.Position == nil || e.Position.Before != 0 || e.Position.Ready != 10 {
		t.Errorf("%+v", e.Position)
	}
	for i := range 3 {
		if l := pull1(t, d, "q"); l.Task != 2 {
			t.Fatalf("pull %d got a job of task %d", i, l.Task)
		}
	}
	e = explained(t, d, last[0], func(e Explanation) bool { return e.Gate == GateNone })
	if e.Summary == "" {
		t.Error(fmt.Sprint(e))
	}
}

// Daemons side by side, with pulls, ends and kills at all of them while shares begin and cease to give turns and a task goes to and
// fro: in the end each knows exactly what every user holds.
func TestUsersAreExactOnEveryDaemon(t *testing.T) {
	f := newFixture(t, []shares.Spec{fair("A", 1), fair("B", 1)}, slots("q", 60))
	daemons := []*Dispatcher{f.daemon(), f.daemon(), f.daemon()}
	var jobs []int64
	for i := range 6 {
		jobs = append(jobs, f.enqueue(batch{share: []string{"A", "B"}[i%2], n: 60, cores: 1 + i%3, user: fmt.Sprint("u", i/2)})...)
	}
	var working sync.WaitGroup
	for i, d := range daemons {
		working.Go(func() {
			r := rand.New(rand.NewPCG(1, uint64(i)))
			var mine []Lease
			for range 60 {
				switch r.IntN(6) {
				case 0:
					_ = d.KillJob(context.Background(), jobs[r.IntN(len(jobs))])
				case 1, 2:
					if n := len(mine); n > 0 {
						finish(t, d, []Outcome{Finished, Failed}[r.IntN(2)], mine[n-1])
						mine = mine[:n-1]
					}
				default:
					reply, err := d.Pull(context.Background(), PullRequest{Queue: "q", Pilot: "p", Slot: job.Slot{Cores: 3}, Max: 1 + r.IntN(3)})
					if err != nil && !errors.Is(err, ErrNoJobs) {
						t.Error(err)
					}
					mine = append(mine, reply.Leases...)
				}
			}
		})
	}
	working.Go(func() {
		for i := range 6 {
			f.within("A", []string{shares.Fifo, shares.FairUser}[i%2])
			f.moveTask(TaskMove{Task: 2, To: f.shareID([]string{"A", "B"}[i%2]), Running: i%3 > 0, Limit: 100})
			if _, err := daemons[i%3].TendUsers(context.Background()); err != nil {
				t.Error(err)
			}
		}
	})
	working.Wait()
	f.tend(daemons...)
	for i, d := range daemons {
		for _, path := range []string{"A", "B"} {
			held := f.heldByUser(path)
			eventually(t, fmt.Sprintf("daemon %d knows who holds %v of %s", i, held, path), func() bool {
				d.mu.Lock()
				defer d.mu.Unlock()
				leaf, _ := d.state.version.Tree.ByPath(path)
				known := map[string]int{}
				for name, u := range d.state.leaves[leaf].users.by {
					if n := u.held[d.state.pools["default"]]; n != 0 {
						known[name] = int(n / 1000)
					}
				}
				return maps.Equal(known, held)
			})
		}
	}
	f.recount()
}

// The generator keeps stock for each user, and knows only the shape of anybody's jobs.
func TestStockNamesUsers(t *testing.T) {
	f := newFixture(t, []shares.Spec{fair("A", 1), node("B", 1)}, slots("q", 100))
	d := f.daemon()
	f.enqueue(batch{share: "A", n: 20, user: "alice"})
	f.enqueue(batch{share: "A", n: 2, user: "bob"})
	f.enqueue(batch{share: "B", n: 3, user: "bob"})
	plain := map[int32]bool{}
	got := map[string]int64{}
	for _, s := range d.Stock() {
		leaf, _ := f.version.Tree.ByID(s.Share)
		got[f.version.Tree.Nodes[leaf].Path+" "+s.User] += s.Ready
		plain[s.Shape] = true
	}
	if want := map[string]int64{"A alice": 20, "A bob": 2, "B ": 3}; !maps.Equal(got, want) || len(plain) != 1 {
		t.Errorf("%v of shapes %v, want %v of one", got, plain, want)
	}
}
