package dispatcher

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/internal/pgtest"
	"github.com/divvyhq/divvy/shares"
	"github.com/divvyhq/divvy/shares/replay"
)

// history is what a test lets happen on a fixture.
type history struct {
	*fixture
	random   *rand.Rand
	leaves   []string
	queues   []string
	versions map[int64]shares.Version
	began    time.Time
}

// randomTree has two or three levels, with limits here and there.
func randomTree(r *rand.Rand) (specs []shares.Spec) {
	for i := range 2 + r.IntN(3) {
		top := node(string(rune('A'+i)), float64(1+r.IntN(9)))
		for k := range r.IntN(5) {
			child := node(string(rune('a'+k)), float64(1+r.IntN(5)))
			if r.IntN(4) == 0 {
				child.Plan.Min = shares.Of(shares.Units(1+r.IntN(3)) * 1000)
			}
			if r.IntN(5) == 0 {
				child.Plan.Tier = 2
			}
			top.Children = append(top.Children, child)
		}
		if r.IntN(3) == 0 {
			top.Plan.Owned = shares.Of(shares.Units(1+r.IntN(6)) * 1000)
		}
		if r.IntN(3) == 0 {
			top.Plan.HalfLife = shares.Duration(time.Second)
		}
		specs = append(specs, top)
	}
	return specs
}

func newHistory(t *testing.T, seed uint64, specs []shares.Spec, queues ...shares.Queue) *history {
	h := &history{random: rand.New(rand.NewPCG(seed, 1)), versions: map[int64]shares.Version{}, began: time.Now().Add(-time.Minute)}
	if specs == nil {
		specs = randomTree(h.random)
	}
	h.fixture = newFixture(t, specs, queues...)
	for _, leaf := range h.version.Tree.Leaves() {
		h.leaves = append(h.leaves, h.version.Tree.Nodes[leaf].Path)
	}
	for _, q := range queues {
		h.queues = append(h.queues, q.Name)
	}
	h.versions[h.version.Number] = h.version
	return h
}

// recording opens a daemon that records everything and runs its steps until stop is called.
func (h *history) recording(all bool) (d *Dispatcher, stop func()) {
	h.t.Helper()
	d, err := Open(context.Background(), Config{Pool: h.pool, Load: h.load, RecordAll: all})
	if err != nil {
		h.t.Fatal(err)
	}
	if _, err := d.Record(context.Background()); err != nil { // the first stand
		h.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = d.Run(ctx) })
	every := func(pause time.Duration, step func(context.Context) (int, error)) {
		running.Go(func() {
			tick := time.NewTicker(pause)
			defer tick.Stop()
			for {
				select {
				case <-ctx.Done():
					return
				case <-tick.C:
					if _, err := step(ctx); err != nil && ctx.Err() == nil {
						h.t.Logf("step: %v", err)
					}
				}
			}
		})
	}
	every(20*time.Millisecond, d.Refresh)
	every(50*time.Millisecond, d.Record)
	every(150*time.Millisecond, d.Fold)
	every(200*time.Millisecond, d.Checkpoint)
	every(100*time.Millisecond, d.Remember)
	return d, sync.OnceFunc(func() { cancel(); running.Wait(); _ = d.Close(context.Background()) })
}

// live has pilots at work on a daemon: they pull, hold, end and sometimes fail their jobs.
func (h *history) live(d *Dispatcher, seed uint64, pulls int) {
	r := rand.New(rand.NewPCG(seed, 2))
	var held []Lease
	for range pulls {
		queue := h.queues[r.IntN(len(h.queues))]
		reply, err := d.Pull(context.Background(), PullRequest{Queue: queue, Pilot: "p", WaitS: 0.02, Max: 1 + r.IntN(3), Slot: job.Slot{Cores: 1 + r.IntN(4)}})
		if err == nil {
			held = append(held, reply.Leases...)
		}
		for len(held) > 5 || err != nil && len(held) > 0 {
			i := r.IntN(len(held))
			end := Result{Lease: held[i].Lease, Outcome: Finished}
			if r.IntN(8) == 0 {
				end.Outcome = Failed
			}
			if _, err := d.Finish(context.Background(), FinishRequest{Results: []Result{end}}); err != nil {
				h.t.Error(err)
			}
			held = append(held[:i], held[i+1:]...)
			err = nil
		}
	}
}

// feed enqueues jobs of all kinds, and takes some out of the daemons' hands.
func (h *history) feed(n int) {
	h.enqueue(batch{share: h.leaves[h.random.IntN(len(h.leaves))], n: n, cores: 1 + h.random.IntN(3), priority: h.random.IntN(3)})
	h.exec(`INSERT INTO leases (job_id, attempt, nonce, task_id, share_id, shape_id, queue_id, units, cores, priority, pilot, node, daemon_id, expires_at, ttl_s)
		SELECT id, attempt, id, task_id, share_id, shape_id, (SELECT min(id) FROM queues), 1000, 1, 0, 'other', '', 0, now() + interval '1 h', 60
		FROM jobs WHERE id = (SELECT max(id) FROM jobs WHERE state = 'ready') ON CONFLICT DO NOTHING`)
}

func (h *history) replay(other *shares.Version) replay.Score {
	h.t.Helper()
	score, err := Replay{DB: h.pool, Since: h.began, Until: time.Now().Add(time.Minute), Site: other, List: 5,
		Version: func(_ context.Context, n int64) (shares.Version, error) { return h.versions[n], nil }}.Run(context.Background())
	if err != nil {
		h.t.Fatal(err)
	}
	return score
}

// recorded is how many decisions there are records of.
func (h *history) recorded() (n int64) {
	h.scan(&n, "SELECT coalesce(sum(weight), 0) FROM report.decisions")
	return n
}

// exact fails unless all decisions were made again as they were.
func (h *history) exact(s replay.Score) {
	h.t.Helper()
	h.t.Logf("%d decisions, %d compared, %v", s.Decisions, s.Compared, s.NotComparable)
	if s.Decisions != h.recorded() {
		h.t.Errorf("%d decisions of %d that are recorded", s.Decisions, h.recorded())
	}
	if s.Differences != 0 || s.Drifts != 0 {
		h.t.Errorf("%d differences, %d drifts: %+v", s.Differences, s.Drifts, s.First)
	}
	if s.Comparable() < 0.95 {
		h.t.Errorf("%.3f of the decisions are compared: %v", s.Comparable(), s.NotComparable)
	}
}

// W3: recorded pulls under the same version of the tree give identical decisions.
func TestReplayIsIdentical(t *testing.T) {
	for seed := range uint64(pgtest.Draws(4)) {
		wide := slots("wide", 30)
		wide.CorePowerMilli = 1500
		h := newHistory(t, seed, nil, slots("q", 20), wide)
		d, stop := h.recording(true)
		t.Cleanup(stop)
		var pilots sync.WaitGroup
		for i := range uint64(6) {
			pilots.Go(func() { h.live(d, seed*100+i, 150) })
		}
		for i := range 40 {
			h.feed(1 + h.random.IntN(60))
			if i == 20 { // another tree from here on
				h.apply(func(v *shares.Version) {
					v.Number++
					v.Tree = v.Tree.At(time.Now())
					v.Tree.Nodes[1].Plan.Weight += 3
					h.versions[v.Number] = *v
				})
			}
		}
		pilots.Wait()
		stop()
		h.exact(h.replay(nil))
	}
}

// The same with two daemons: each is replayed by what it knew.
func TestReplayOfTwoDaemons(t *testing.T) {
	h := newHistory(t, 11, nil, slots("q", 20))
	a, stopA := h.recording(true)
	t.Cleanup(stopA)
	b, stopB := h.recording(true)
	t.Cleanup(stopB)
	h.feed(200)
	var pilots sync.WaitGroup
	for i := range uint64(4) {
		pilots.Go(func() { h.live([]*Dispatcher{a, b}[i%2], i, 100) })
	}
	for range 30 {
		h.feed(1 + h.random.IntN(30))
	}
	pilots.Wait()
	stopA()
	stopB()
	h.exact(h.replay(nil))
}

// What a sample leaves out cannot be made again, and is said to be so; what comes after it can.
func TestReplayOfASample(t *testing.T) {
	h := newHistory(t, 3, nil, slots("q", 20))
	d, stop := h.recording(false)
	t.Cleanup(stop)
	for range 20 {
		h.feed(20)
	}
	h.live(d, 1, 50)
	d.mu.Lock()
	d.state.sample.weight, d.state.sample.left = 8, 0 // as above a thousand a second
	d.mu.Unlock()
	h.live(d, 2, 5)
	if _, err := d.Record(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.live(d, 3, 50)
	stop()
	s := h.replay(nil)
	if s.Differences != 0 || s.Drifts != 0 || s.Compared < 50 {
		t.Errorf("%+v", s)
	}
}

// Another site gives slots to others; what it would have delivered goes towards its targets.
func TestReplayOfAnotherSite(t *testing.T) {
	h := newHistory(t, 5, []shares.Spec{node("A", 1), node("B", 1)}, slots("q", 20))
	d, stop := h.recording(true)
	t.Cleanup(stop)
	h.enqueue(batch{share: "A", n: 1200})
	h.enqueue(batch{share: "B", n: 1200})
	var pilots sync.WaitGroup
	for i := range uint64(8) {
		pilots.Go(func() { h.live(d, i, 90) })
	}
	pilots.Wait()
	stop()
	other := h.version
	tree, err := shares.Build([]shares.Spec{node("A", 4), node("B", 1)})
	if err != nil {
		t.Fatal(err)
	}
	tree.SetIDs(func(path string) shares.ShareID {
		i, _ := h.version.Tree.ByPath(path)
		return h.version.Tree.Nodes[i].ID
	})
	other.Tree = tree
	s := h.replay(&other)
	starts := map[string]replay.Delivered{}
	for _, d := range s.Shares {
		starts[d.Path] = d
	}
	a := starts["A"]
	part, partNow := float64(a.Started)/float64(s.Compared), float64(a.Starts)/float64(s.Compared)
	t.Logf("A: %.3f of the starts, now %.3f; %d differences of %d", part, partNow, s.Differences, s.Compared)
	// Shares are of what is held. How many starts that takes depends on whose jobs happen to end soon, which differs by how the pilots interleave.
	if s.Differences == 0 || len(s.First) != 5 || part < 0.4 || part > 0.6 || partNow < 0.7 || partNow > 0.9 {
		t.Errorf("%+v", s)
	}
	same := h.version
	if s := h.replay(&same); s.Differences != 0 {
		t.Errorf("%d differences under the same tree: %+v", s.Differences, s.First)
	}
}

// What is folded at a position of the ledger is what a count of jobs and leases gave at that moment.
func TestFoldOfAMoment(t *testing.T) {
	h := newHistory(t, 7, nil, slots("q", 20))
	d, stop := h.recording(true)
	t.Cleanup(stop)
	type moment struct {
		at    time.Time
		to    map[laneID]int64
		ready map[windowKey]int64
		held  map[heldKey]heldCount
	}
	var moments []moment
	var pilots sync.WaitGroup
	for i := range uint64(4) {
		pilots.Go(func() { h.live(d, i, 150) })
	}
	for i := range 12 {
		h.enqueue(batch{share: h.leaves[h.random.IntN(len(h.leaves))], n: 40})
		m := moment{to: map[laneID]int64{}, ready: map[windowKey]int64{}, held: map[heldKey]heldCount{}}
		err := pgx.BeginTxFunc(t.Context(), h.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead}, func(tx pgx.Tx) error {
			rows, err := tx.Query(t.Context(), "SELECT daemon_id, lane, max(seq) FROM ledger GROUP BY 1, 2")
			if err != nil {
				return err
			}
			var id laneID
			var seq int64
			if _, err := pgx.ForEachRow(rows, []any{&id.Daemon, &id.Lane, &seq}, func() error { m.to[id] = seq; return nil }); err != nil {
				return err
			}
			var w windowKey
			var n int64
			rows, _ = tx.Query(t.Context(), `SELECT share_id, shape_id, count(*) FROM jobs j
				WHERE state = 'ready' AND NOT EXISTS (SELECT FROM leases l WHERE l.job_id = j.id) GROUP BY 1, 2`)
			if _, err := pgx.ForEachRow(rows, []any{&w.share, &w.shape, &n}, func() error { m.ready[w] = n; return nil }); err != nil {
				return err
			}
			var k heldKey
			var c heldCount
			rows, _ = tx.Query(t.Context(), "SELECT share_id, shape_id, queue_id, count(*), sum(units)::bigint FROM leases GROUP BY 1, 2, 3")
			if _, err := pgx.ForEachRow(rows, []any{&k.share, &k.shape, &k.queue, &c.jobs, &c.units}, func() error { m.held[k] = c; return nil }); err != nil {
				return err
			}
			return tx.QueryRow(t.Context(), "SELECT clock_timestamp()").Scan(&m.at)
		})
		if err != nil {
			t.Fatal(err)
		}
		moments = append(moments, m)
		if i%4 == 0 { // there is more than one checkpoint
			h.exec(makeYesterday)
			h.exec("UPDATE checkpoints SET at = at - interval '61 s'")
		}
	}
	pilots.Wait()
	stop()
	for i, m := range moments {
		s, err := foldTo(t.Context(), h.pool, m.at, m.to)
		if err != nil {
			t.Fatal(err)
		}
		for key, w := range s.windows {
			if w.ready != m.ready[key] {
				t.Errorf("moment %d: %d ready of %v, counted %d", i, w.ready, key, m.ready[key])
			}
		}
		held := map[heldKey]heldCount{}
		for _, of := range s.held {
			for key, c := range of {
				held[key] = *c
			}
		}
		if len(held) != len(m.held) {
			t.Errorf("moment %d: held %v, counted %v", i, held, m.held)
		}
		for key, c := range m.held {
			if held[key] != c {
				t.Errorf("moment %d: %v held of %v, counted %v", i, held[key], key, c)
			}
		}
	}
}
