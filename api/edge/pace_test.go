package edge

import (
	"fmt"
	"testing"
	"time"

	"github.com/divvyhq/divvy/internal/access"
)

// Callers that have been quiet are forgotten, those that are not are not.
func TestPacesAreForgotten(t *testing.T) {
	now := time.Unix(1e9, 0)
	p := newPaces(Rates{Requests: 1})
	p.now = func() time.Time { return now }
	need := RightOf("GET", "/v1/status")
	for i := range mostPaces {
		if err := p.admit(&access.Caller{From: fmt.Sprint("sub ", i)}, need); err != nil {
			t.Fatal(err)
		}
	}
	now = now.Add(idlePace)
	busy := &access.Caller{From: "sub 7"}
	for range BurstOf {
		if err := p.admit(busy, need); err != nil {
			t.Fatal(err)
		}
	}
	now = now.Add(time.Millisecond)
	if err := p.admit(&access.Caller{ID: 1}, need); err != nil || len(p.all) != 2 {
		t.Errorf("%v, %d callers are kept, want 2", err, len(p.all))
	}
	if err := p.admit(busy, need); err == nil {
		t.Error("the busy one was forgotten: it has its burst again")
	}
}
