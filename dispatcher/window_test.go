package dispatcher

import (
	"slices"
	"testing"
)

// A range is announced after the cursor while a read is under way, which does not come as far. The jobs between are not
// passed over.
func TestAnnouncedAfterTheCursor(t *testing.T) {
	w := newWindow(windowKey{1, 1}, &shape{})
	w.filling = true
	w.announce(span{place: 9, low: 90, high: 99})
	w.filling = false
	w.took(windowRead{from: w.cursor, on: 2}, nil, []readyJob{{stand: stand{5, 50}}, {stand: stand{5, 51}}})
	w.cursor, w.end = stand{5, 51}, false

	w.putOff()
	if len(w.behind) > 0 || w.end {
		t.Errorf("announced %v, end %v; want none, and to be read on", w.behind, w.end)
	}

	// The range reaches over the cursor: what is after it is left to the reads on from there.
	w.end = true
	w.took(windowRead{from: w.cursor, spans: []span{{5, 45, 55}}}, []readyJob{{stand: stand{5, 45}}, {stand: stand{5, 55}}}, nil)
	var ids []int64
	for _, job := range w.jobs {
		ids = append(ids, job.id)
	}
	if want := []int64{45, 50, 51}; !slices.Equal(ids, want) || w.end || w.cursor != (stand{5, 51}) {
		t.Errorf("jobs %v, end %v, cursor %v; want %v, to be read on from {5 51}", ids, w.end, w.cursor, want)
	}
}
