package dispatcher

import (
	"errors"
	"testing"
	"time"

	"github.com/divvyhq/divvy/shares"
	"github.com/divvyhq/divvy/shares/replay"
)

// stand has the daemon write a stand now, and returns the number of the page that begins with it.
func (h *history) stand(d *Dispatcher) (page int64) {
	h.t.Helper()
	h.record(d) // what came before is a page of its own
	d.mu.Lock()
	d.stand(time.Now())
	d.mu.Unlock()
	h.record(d)
	h.scan(&page, "SELECT max(nth) FROM diaries WHERE position('S' in words) > 0")
	return page
}

// replayFrom makes the decisions since a stand again; what was written before it has gone.
func (h *history) replayFrom(page int64) replay.Score {
	h.t.Helper()
	h.exec("DELETE FROM diaries WHERE nth < $1", page)
	s := h.replay(nil)
	if s.Differences != 0 || s.Drifts != 0 {
		h.t.Errorf("since page %d: %d compared, %d differences, %d drifts: %+v", page, s.Compared, s.Differences, s.Drifts, s.First)
	}
	return s
}

// A stand that is taken while it is known what became of a lane in doubt, and not counted, has the batch once.
func TestStandBesideALaneInDoubt(t *testing.T) {
	sure := func(t *testing.T, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, doubt := range map[string]func(t *testing.T, h *history, d *Dispatcher) (settle func()){
		"grants": func(t *testing.T, h *history, d *Dispatcher) func() {
			l, b := d.lane(firstGrantLane), decided(t, d, 5)
			_, _, err := d.execLease(t.Context(), l, b)
			sure(t, err)
			l.doubt, l.pending = true, b // the answer was lost
			moves, err := d.resolve(t.Context(), l)
			sure(t, err)
			return func() { d.settleDoubt(l, moves) }
		},
		"ends": func(t *testing.T, h *history, d *Dispatcher) func() {
			b := decided(t, d, 5)
			d.lease(t.Context(), d.lane(firstGrantLane), b)
			l := d.lane(firstEndLane)
			_, err := d.execEnd(t.Context(), l, endsOf(t, b, Finished))
			sure(t, err)
			l.doubt = true
			moves, err := d.resolve(t.Context(), l)
			sure(t, err)
			return func() { d.bookEnds(t.Context(), l, moves) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHistory(t, 23, []shares.Spec{node("A", 3), node("B", 1)}, slots("q", 40))
			h.enqueue(batch{share: "A", n: 20})
			h.enqueue(batch{share: "B", n: 20})
			d := h.recorder()
			settle := doubt(t, h, d)
			page, other := h.stand(d), d.lane(firstGrantLane+1)
			d.lease(t.Context(), other, decided(t, d, 3))
			settle()
			d.lease(t.Context(), other, decided(t, d, 5))
			h.record(d)
			h.agrees(d)
			h.recount()
			if s := h.replayFrom(page); s.Compared != 8 {
				t.Errorf("%+v", s)
			}
		})
	}
}

// A grant in flight at a stand that comes to nothing leaves its job at its place by age, and its share at its place in
// the order of grants; so it is in the replay.
func TestStandBesideAGrantInFlight(t *testing.T) {
	h := newHistory(t, 24, []shares.Spec{node("A", 1), node("B", 1)}, slots("q", 40))
	h.enqueue(batch{share: "A", n: 20})
	h.enqueue(batch{share: "B", n: 20})
	d := h.recorder()
	l := d.lane(firstGrantLane)
	d.lease(t.Context(), l, decided(t, d, 2))
	lost := decided(t, d, 1)
	page := h.stand(d)
	d.failBatch(lost, errors.New("the database is away"))
	next := decided(t, d, 1)
	g, was := next.pulls[0].grants[0], lost.pulls[0]
	if g.share != "A" || g.job.id != 2 || len(was.grants) != 0 {
		t.Errorf("job %d of %s was given after the first one of A was put back", g.job.id, g.share)
	}
	d.lease(t.Context(), l, next)
	h.record(d)
	if s := h.replayFrom(page); s.Compared != 1 {
		t.Errorf("%+v", s)
	}
}

// Whatever becomes of batches in flight, in any order: replays from every stand on come out the same.
func TestStandsBesideBatchesInFlight(t *testing.T) {
	h := newHistory(t, 25, []shares.Spec{node("A", 1, node("x", 1), node("y", 1)), node("B", 1, node("x", 1), node("y", 1)), node("C", 1)},
		slots("q", 1000))
	for _, leaf := range h.leaves {
		h.enqueue(batch{share: leaf, n: 400})
	}
	d := h.recorder()
	var pages []int64
	for range 25 {
		one, two := decided(t, d, 1+h.random.IntN(6)), decided(t, d, 1+h.random.IntN(6))
		pages = append(pages, h.stand(d))
		end := func(no int, b leaseBatch) {
			switch h.random.IntN(3) {
			case 0:
				d.lease(t.Context(), d.lane(no), b)
			case 1:
				d.failBatch(b, errors.New("the database is away"))
			default:
				d.tryAgain(b)
				d.lease(t.Context(), d.lane(no), decidedAgain(t, d, len(b.pulls)))
			}
		}
		if h.random.IntN(2) == 0 {
			end(0, one)
			end(1, two)
		} else {
			end(1, two)
			end(0, one)
		}
		d.lease(t.Context(), d.lane(0), decided(t, d, 3))
	}
	h.record(d)
	h.agrees(d)
	for _, page := range pages {
		if s := h.replayFrom(page); s.Compared < 3 {
			t.Errorf("since page %d: %+v", page, s)
		}
	}
}
