package dispatcher

import (
	"testing"
	"time"

	"github.com/divvyhq/divvy/shares"
)

// What the server of a resource has said counts until it is too old, however often the site changes, and though nobody has to do
// with the resource meanwhile.
func TestReportsOutliveChangesOfTheSite(t *testing.T) {
	m := newStateSite(t, []shares.Spec{node("A", 1)}, shares.Version{Queues: []shares.Queue{slots("q", 10)}, Resources: []shares.Resource{units("x", 9)}})
	m.s.report(externalRow{Name: "x", Total: 9, Used: 7, ReportedAt: m.now})
	for range 3 {
		m.change(func(*shares.Version) {})
	}
	if got := m.supplyAt("x", nil).book.Usable(); got != 2 {
		t.Errorf("%d units may be used, want 2: others use 7 of the 9", got)
	}
	m.change(func(*shares.Version) {})
	m.now = m.now.Add(time.Hour)
	m.change(func(*shares.Version) {})
	if got := m.supplyAt("x", nil).book.Usable(); got != 9 {
		t.Errorf("%d units may be used, want all: the report is an hour old", got)
	}
}
