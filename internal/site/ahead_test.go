package site

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/divvyhq/divvy/shares"
)

// aheadOf has the hook say so many times that there is more, and notes what it was called with.
func (b *bench) aheadOf(times int) *[]string {
	var calls []string
	b.hooks.Ahead = func(_ context.Context, from, to shares.ShareID) (bool, error) {
		calls = append(calls, fmt.Sprintf("%d→%d", from, to))
		return len(calls) <= times, nil
	}
	return &calls
}

// Much live work moves before the change that sends it elsewhere, which is not in force until it has; a repeat goes on.
func TestMuchWorkMovesAhead(t *testing.T) {
	b := newBench(t)
	b.apply(site("{name: A}", "{name: B}", "{name: C}"))
	ids, before := b.ids(), b.dump()
	b.live["A"] = Live{Tasks: 2, Ready: aheadFrom - 10, Leased: 10}
	b.live["B"] = Live{Tasks: 1, Ready: aheadFrom - 1}
	calls := b.aheadOf(1)
	src := site("{name: D, was: C}")
	_, err := b.try(src, "A", "D", "B", "D")
	if !errors.Is(err, ErrMoving) || !strings.Contains(err.Error(), "about 10000 jobs of share A") || b.dump() != before {
		t.Errorf("%v, in force %d", err, b.load().Number)
	}
	if a := b.apply(src, "A", "D", "B", "D"); a.Version != 2 || len(a.Notes) > 0 {
		t.Errorf("%+v", a)
	}
	want := fmt.Sprintf("%d→%d", ids["A"], ids["C"])
	if !slices.Equal(*calls, []string{want, want}) {
		t.Errorf("moved ahead %v, want %s twice", *calls, want)
	}
	if len(b.moved) != 2 { // what came meanwhile
		t.Errorf("moved with the change: %v", b.moved)
	}
}

// Nothing moves ahead of a change that is only tried, refused or not allowed, nor to a share that is not there yet, which is said.
func TestNothingMovesAhead(t *testing.T) {
	b := newBench(t)
	b.apply(site("{name: A}", "{name: B}", "{name: C}"))
	b.live["A"], b.live["B"] = Live{Tasks: 2, Ready: aheadFrom}, Live{Tasks: 1}
	calls := b.aheadOf(0)
	file := []byte(site("{name: C}", "{name: B}"))
	moves := map[string]string{"A": "C"}
	if a, err := b.Apply(t.Context(), ApplyRequest{Source: file, Moves: moves, DryRun: true}); err != nil || len(a.Moved) != 1 {
		t.Errorf("%+v %v", a, err)
	}
	foreign := errors.New("not yours")
	if _, err := b.Apply(t.Context(), ApplyRequest{Source: file, Moves: moves, Check: func(Changes) error { return foreign }}); !errors.Is(err, foreign) {
		t.Error(err)
	}
	var refused *Refused
	if _, err := b.try(site("{name: C}"), "A", "C"); !errors.As(err, &refused) {
		t.Error(err)
	}
	a := b.apply(site("{name: A, children: [{name: x}]}", "{name: B}", "{name: C}"), "A", "A/x")
	want := "no job is given to a slot until all 10000 jobs of A have moved to A/x, since that is new: apply a file that adds a leaf first, then one that moves them there"
	if len(*calls) > 0 || len(a.Notes) != 1 || a.Notes[0] != want {
		t.Errorf("moved ahead %v, notes %q", *calls, a.Notes)
	}
}

// A file for later waits until what it moves has moved.
func TestDueFileMovesAhead(t *testing.T) {
	b := newBench(t)
	b.apply(site("{name: A}", "{name: B}"))
	b.live["A"] = Live{Ready: aheadFrom}
	calls := b.aheadOf(1)
	b.later(site("{name: B}"), 1, "A", "B")
	if n := b.due(1); n != 0 || b.load().Number != 1 {
		t.Errorf("%d applied, in force %d", n, b.load().Number)
	}
	if n := b.due(0); n != 1 || b.load().Number != 2 {
		t.Errorf("%d applied, in force %d", n, b.load().Number)
	}
	if len(*calls) != 2 {
		t.Errorf("moved ahead %v", *calls)
	}
}
