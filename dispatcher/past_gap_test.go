package dispatcher

import (
	"context"
	"testing"

	"github.com/divvyhq/divvy/shares"
	"github.com/divvyhq/divvy/shares/replay"
)

// recorder opens a daemon that records everything, when it is told to, and has written its first stand.
func (h *history) recorder() *Dispatcher {
	h.t.Helper()
	d, err := Open(h.t.Context(), Config{Pool: h.pool, Load: h.load, RecordAll: true})
	if err != nil {
		h.t.Fatal(err)
	}
	h.record(d)
	return d
}

func (h *history) record(d *Dispatcher) {
	h.t.Helper()
	if _, err := d.Record(h.t.Context()); err != nil {
		h.t.Fatal(err)
	}
}

// Whichever page of the diary was not written, nothing is compared that was decided with what it held.
func TestReplayWithoutAPage(t *testing.T) {
	h := newHistory(t, 17, []shares.Spec{node("A", 3), node("B", 2), node("C", 1)}, slots("q", 20))
	d, stop := h.recording(true)
	t.Cleanup(stop)
	for range 8 {
		h.feed(40)
	}
	h.live(d, 1, 80)
	stop()
	h.exact(h.replay(nil))
	h.exec("CREATE TABLE kept AS SELECT * FROM diaries")
	var pages int64
	h.scan(&pages, "SELECT max(nth) FROM kept")
	if pages < 3 {
		t.Fatalf("%d pages", pages)
	}
	for nth := int64(1); nth <= pages; nth++ {
		h.exec("DELETE FROM diaries WHERE nth = $1", nth)
		s := h.replay(nil)
		if s.Differences != 0 || s.Drifts != 0 {
			t.Errorf("without page %d of %d: %d compared, %d differences, %d drifts, %v", nth, pages, s.Compared, s.Differences, s.Drifts, s.NotComparable)
		}
		left := s.Decisions - s.Compared
		for _, c := range s.NotComparable {
			if want := map[bool]replay.Reason{true: replay.NoStand, false: replay.Missing}[nth == 1]; c.Reason == want {
				left -= c.Decisions
			}
		}
		if s.Decisions != h.recorded() || left != 0 {
			t.Errorf("without page %d of %d: %+v", nth, pages, s)
		}
		h.exec("INSERT INTO diaries SELECT * FROM kept WHERE nth = $1", nth)
	}
}

// A daemon that is told to stop while it records does not lose the page.
func TestRecordIsNotInterrupted(t *testing.T) {
	h := newHistory(t, 18, []shares.Spec{node("A", 1)}, slots("q", 10))
	h.enqueue(batch{share: "A", n: 4})
	d := h.recorder()
	d.lease(t.Context(), d.lane(firstGrantLane), decided(t, d, 4))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _ = d.Record(ctx)
	d.mu.Lock()
	open := d.state.diary.open()
	d.mu.Unlock()
	if !open {
		t.Error("the diary has broken off")
	}
	h.record(d)
	s := h.replay(nil)
	if h.exact(s); s.Compared != 4 {
		t.Errorf("%+v", s)
	}
}

// The row of a grant that was in doubt is counted from the ledger: that one, not those before it in its lane.
func TestReplayOfAGrantInDoubt(t *testing.T) {
	h := newHistory(t, 19, []shares.Spec{node("A", 3), node("B", 1)}, slots("q", 40))
	h.enqueue(batch{share: "A", n: 20})
	h.enqueue(batch{share: "B", n: 20})
	d := h.recorder()
	l := d.lane(firstGrantLane)
	d.lease(t.Context(), l, decided(t, d, 5))
	b := decided(t, d, 5)
	if took, _, err := d.execLease(t.Context(), l, b); err != nil || !took.all {
		t.Fatalf("grant: %v %v", took, err)
	}
	l.doubt, l.pending = true, b // the answer was lost
	d.lease(t.Context(), l, decided(t, d, 5))
	d.lease(t.Context(), l, decided(t, d, 5))
	h.record(d)
	s := h.replay(nil)
	if h.exact(s); s.Compared != 15 {
		t.Errorf("%+v", s)
	}
}
