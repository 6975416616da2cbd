package lease

import "time"

// late has ends whose texts find no room in the next batch. Meanwhile no lease of theirs runs out.
type late struct {
	asks  []lateAsk
	bytes int // of texts
}

type lateAsk struct {
	ask   *Ask
	size  int
	since time.Duration
}

// mostLate bounds the texts that wait, in batches.
const mostLate = 16

// textsOf is how many bytes of texts an ask has.
func textsOf(a *Ask) (n int) {
	for _, e := range a.Finish {
		if e.Text != nil {
			n += e.Text.Size()
		}
	}
	return n
}

// fits says whether the next batch takes so many bytes of texts. Those of one ask alone it always does.
func (t *late) fits(l *leader, size int) bool {
	return l.next.texts == 0 || l.next.texts+size <= l.cfg.Bounds.Texts
}

// finish ends leases now, or when there is room.
func (t *late) finish(l *leader, a *Ask) {
	size := textsOf(a)
	if size == 0 || len(t.asks) == 0 && t.fits(l, size) {
		l.finish(a)
		return
	}
	if t.bytes+size > mostLate*l.cfg.Bounds.Texts {
		l.answer(a.Call, Answer{Status: Unavailable})
		return
	}
	for _, e := range a.Finish {
		if _, ok := l.live(e.Key); ok {
			l.leases.prolong(e.Key.Job, l.now+l.cfg.Timing.TTL)
		}
	}
	t.asks, t.bytes = append(t.asks, lateAsk{a, size, l.now}), t.bytes+size
}

// end ends what waited for room. What has waited for too long is not done.
func (t *late) end(l *leader) {
	for len(t.asks) > 0 {
		w := t.asks[0]
		fits := t.fits(l, w.size)
		if !fits && l.now-w.since < l.cfg.Timing.Patience {
			l.wakeBy(w.since + l.cfg.Timing.Patience)
			return
		}
		t.asks[0] = lateAsk{}
		if t.asks, t.bytes = t.asks[1:], t.bytes-w.size; fits {
			l.finish(w.ask)
		} else {
			l.answer(w.ask.Call, Answer{Status: Unavailable})
		}
	}
}
