package dispatcher

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/tape"
	"github.com/divvyhq/divvy/shares"
)

var recordTapes = flag.Bool("record", false, "record the tapes below dispatcher/tape/testdata anew")

// play is one daemon whose decisions are recorded while a test plays the site around it.
type play struct {
	*fixture
	d     *Dispatcher
	tape  *recorder
	rnd   *rand.Rand
	clock *playClock
	held  []heldLease
	pull  int // pilots that asked so far
}

// heldLease is a lease that a pilot of the play has.
type heldLease struct {
	Lease
	pilot *playPilot // nil: of nobody in particular
	due   time.Time
}

// playClock stands still until the play moves it.
type playClock struct {
	mu sync.Mutex
	at time.Time
}

func (c *playClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *playClock) forward(by time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(by)
}

// playSite is the site of a play.
type playSite struct {
	shares []shares.Spec
	queues []shares.Queue
	timing Timing
	more   func(v *shares.Version) // resources, attempts
}

// newPlay begins to record. The plays begin on a Monday morning.
func newPlay(t *testing.T, site playSite, w *tape.Writer) (*play, func()) {
	t.Helper()
	f := newFixture(t, site.shares, site.queues...)
	p := &play{fixture: f, rnd: rand.New(rand.NewPCG(1, 25)), clock: &playClock{at: time.Date(2026, 3, 2, 7, 0, 0, 0, time.UTC)}}
	p.tape = newRecorder(t, f.pool, w)
	p.change(func(v *shares.Version) {
		if site.more != nil {
			site.more(v)
		}
	})
	if site.timing.TTL == 0 {
		site.timing.TTL, site.timing.FirstTTL = time.Hour, time.Hour // nothing is lost but on purpose
	}
	d, stop := f.runWith(Config{Pool: f.pool, Load: f.load, Timing: site.timing, Now: p.clock.now, RecordAll: true, tape: &taping{p.tape}})
	d.mu.Lock()
	d.state.clock = p.clock.now
	d.mu.Unlock()
	p.d = d
	return p, stop
}

// recorded plays a scene and writes its tape, where that is asked for. It returns what was recorded.
func recorded(t *testing.T, name string, site playSite, scene func(*play)) []tape.Entry {
	t.Helper()
	var out bytes.Buffer
	w := tape.NewWriter(&out)
	p, stop := newPlay(t, site, w)
	scene(p)
	stop()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	p.recount()
	t.Logf("%s: %d pulls, %d grants, %d bytes", name, p.tape.pulls, p.tape.grants, out.Len())
	if *recordTapes && !t.Failed() {
		if err := os.WriteFile(filepath.Join("tape", "testdata", name+".jsonl.gz"), out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := tape.Read(&out)
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

// tx runs verbs by the clock of the play, behind the barrier, and has the daemon read what came of it.
func (p *play) tx(rebases bool, do func(tx pgx.Tx) error) {
	p.t.Helper()
	ctx := context.Background()
	err := pgx.BeginFunc(ctx, p.pool, func(tx pgx.Tx) error {
		if rebases {
			if err := Barrier(ctx, tx); err != nil {
				return err
			}
		}
		if err := do(tx); err != nil || !rebases {
			return err
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		return rebase(ctx, tx, p.version, p.clock.now)
	})
	if err != nil {
		p.t.Fatal(err)
	}
	p.told()
}

// change applies another version of the site.
func (p *play) change(change func(v *shares.Version)) {
	p.t.Helper()
	p.tx(true, func(tx pgx.Tx) error {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.version.Number++
		p.version.Queues = slices.Clone(p.version.Queues)
		change(&p.version)
		if _, err := tx.Exec(context.Background(), `INSERT INTO site_versions (version, applied_by, source, share_ids, queue_ids)
			VALUES ($1, 'test', '', '{}', '{}')`, p.version.Number); err != nil {
			return err
		}
		return p.writePlans(tx)
	})
}

// replan changes the plan of a share, within a change.
func replan(v *shares.Version, path string, change func(*shares.Plan)) {
	tree := &shares.Tree{Nodes: slices.Clone(v.Tree.Nodes)}
	node, _ := tree.ByPath(path)
	change(&tree.Nodes[node].Plan)
	ids := map[string]shares.ShareID{}
	for _, n := range tree.Nodes {
		ids[n.Path] = n.ID
	}
	tree.SetIDs(func(path string) shares.ShareID { return ids[path] })
	v.Tree = tree
}

// move gives the jobs of a task to another share.
func (p *play) move(task int64, to string, running bool) {
	p.t.Helper()
	p.tx(true, func(tx pgx.Tx) error {
		_, err := MoveTask(context.Background(), tx, TaskMove{Task: task, To: p.shareID(to), Running: running, Limit: 10000})
		return err
	})
}

// walk has a verb go along a task.
func (p *play) walk(task int64, verb func(context.Context, pgx.Tx, Walk) ([]Walked, error), n int) {
	p.t.Helper()
	p.tx(false, func(tx pgx.Tx) error {
		_, err := verb(context.Background(), tx, along(task, n))
		return err
	})
}

func (p *play) kill(task int64, n int) {
	p.walk(task, func(ctx context.Context, tx pgx.Tx, w Walk) ([]Walked, error) {
		return CancelTasks(ctx, tx, w, "killed")
	}, n)
}

func (p *play) prefer(task int64, priority int) {
	p.t.Helper()
	p.prioritise(task, priority)
	p.told()
}

// pass lets time pass: what shares missed counts, and plans whose time has come.
func (p *play) pass(by time.Duration) {
	p.t.Helper()
	p.clock.forward(by)
	step(p.t, p.d.Remember)
	if step(p.t, p.d.Switch) > 0 {
		p.told()
	}
}

// read has the daemon read all windows that a decision may come to. Where jobs ask for resources it matters: a window that is not
// read stands before all others, so whom resources refuse first, and who wants what from then on, goes by what was read.
func (p *play) read() {
	p.d.mu.Lock()
	var unread []*window
	for _, w := range p.d.state.windows {
		if !w.exact() && !w.filling {
			w.filling = true
			unread = append(unread, w)
		}
	}
	p.d.mu.Unlock()
	for _, w := range unread {
		p.d.fill(w)
	}
}

// ask has a slot pull once, and keeps the leases for so long.
func (p *play) ask(req PullRequest, lasts time.Duration) []Lease {
	p.t.Helper()
	p.read()
	reply, err := p.d.Pull(context.Background(), req)
	if err != nil && !errors.Is(err, ErrNoJobs) && !errors.Is(err, ErrQueueClosed) {
		p.t.Fatal(err)
	}
	for _, l := range reply.Leases {
		p.held = append(p.held, heldLease{Lease: l, due: p.clock.now().Add(lasts)})
	}
	return reply.Leases
}

func pilotName(i int) string { return "p" + string(rune('a'+i%26)) + string(rune('a'+i/26%26)) }

// end ends leases that the test selects, so many at the most, one by one or together; of ten attempts some fail.
func (p *play) end(most int, fails int, which func(heldLease) bool) (ended []heldLease) {
	p.t.Helper()
	var kept []heldLease
	req := FinishRequest{Pilot: "p"}
	for _, l := range p.held {
		if len(ended) == most || which != nil && !which(l) {
			kept = append(kept, l)
			continue
		}
		r := Result{Lease: l.Lease.Lease, Outcome: Finished}
		if p.rnd.IntN(10) < fails {
			r.Outcome = Failed
		}
		req.Results = append(req.Results, r)
		ended = append(ended, l)
	}
	p.held = kept
	for chunk := range slices.Chunk(req.Results, 40) {
		if _, err := p.d.Finish(context.Background(), FinishRequest{Pilot: "p", Results: chunk}); err != nil {
			p.t.Fatal(err)
		}
	}
	return ended
}

// some ends so many leases at random.
func (p *play) some(n, fails int) {
	p.t.Helper()
	p.rnd.Shuffle(len(p.held), func(i, j int) { p.held[i], p.held[j] = p.held[j], p.held[i] })
	p.end(n, fails, nil)
}
