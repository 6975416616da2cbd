package site

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/divvyhq/divvy/internal/pgtest"
	"github.com/divvyhq/divvy/internal/site/strict"
)

// later stores a file for so many hours from now.
func (b *bench) later(src string, hours int, moves ...string) Later {
	b.t.Helper()
	r := LaterRequest{At: time.Now().Add(time.Duration(hours) * time.Hour), ApplyRequest: ApplyRequest{
		Source: []byte(src), Name: "night.yml", By: "alice", Note: "for the night", Moves: map[string]string{}}}
	for i := 0; i < len(moves); i += 2 {
		r.Moves[moves[i]] = moves[i+1]
	}
	l, err := b.ApplyLater(b.t.Context(), r)
	if err != nil {
		b.t.Fatal(err)
	}
	return l
}

func (b *bench) due(hours int) int {
	b.t.Helper()
	pgtest.Age(b.t, b.db, "site_later", "effective_at", time.Duration(hours)*time.Hour)
	n, err := b.ApplyDue(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	return n
}

// states lists all later versions: id, state and version.
func (b *bench) states() (all string) {
	b.t.Helper()
	list, err := b.Later(b.t.Context(), true)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, l := range list {
		all += fmt.Sprintf("%d %s %d;", l.ID, l.State, l.Version)
	}
	return all
}

func TestLaterTakesEffectInOrder(t *testing.T) {
	b := newBench(t)
	b.apply(site("{name: A}"))
	before := b.dump()
	second := b.later(site("{name: A, weight: 3}"), 3)
	first := b.later(site("{name: A, weight: 2}"), 2)
	if d := cmp.Diff(before, b.dump()); d != "" {
		t.Errorf("storing changed the site: %s", d)
	}
	if first.BaseVersion != 1 || first.State != "waiting" || first.By != "alice" || first.Note != "for the night" || first.File != "night.yml" || len(first.Notes) != 0 {
		t.Errorf("%+v", first)
	}
	if n := b.due(1); n != 0 || b.states() != "2 waiting 0;1 waiting 0;" {
		t.Errorf("%d were due: %s", n, b.states())
	}
	list, err := b.Later(t.Context(), false)
	if err != nil || len(list) != 2 || len(list[0].Notes) != 0 || !strings.Contains(strings.Join(list[1].Notes, ""), "later version 2 takes effect before it") {
		t.Errorf("%+v, %v", list, err)
	}
	if n := b.due(3); n != 2 || b.states() != "2 applied 2;1 applied 3;" {
		t.Errorf("%d were due: %s", n, b.states())
	}
	if n := b.due(3); n != 0 {
		t.Errorf("%d were due again", n)
	}
	if v := b.load(); v.Number != 3 || v.AppliedBy != "alice" || v.Note != "for the night" || v.Tree.Nodes[1].Plan.Weight != 3 {
		t.Errorf("in force: %+v", v.Head())
	}
	c, err := b.Diff(t.Context(), 2, 3)
	if err != nil || len(c.Shares) != 1 || c.Shares[0].String() != "A: weight 2 → 3" {
		t.Errorf("diff %+v, %v", c, err)
	}
	if a, err := b.Rollback(t.Context(), RollbackRequest{Version: 2}); err != nil || a.Version != 4 {
		t.Errorf("rollback %+v, %v", a, err)
	}
	if _, err := b.CancelLater(t.Context(), second.ID, "bob"); !errors.Is(err, ErrLaterOver) {
		t.Errorf("cancelled what is over: %v", err)
	}
}

func TestLaterKnowsWhatCameBetween(t *testing.T) {
	b := newBench(t)
	b.apply(site("{name: A}"))
	l := b.later(site("{name: A, weight: 2}"), 2)
	b.apply(site("{name: A, weight: 5}"))
	b.apply(site("{name: A, weight: 6}"))
	list, err := b.Later(t.Context(), false)
	if err != nil || len(list) != 1 || cmp.Diff([]string{
		"versions 2 to 3 were applied since it was stored under version 1: what only they changed is lost then"}, list[0].Notes) != "" {
		t.Errorf("%+v, %v", list, err)
	}
	for range 2 {
		if c, err := b.CancelLater(t.Context(), l.ID, "bob"); err != nil || c.State != "cancelled" || c.CancelledBy != "bob" {
			t.Errorf("%+v, %v", c, err)
		}
	}
	if n := b.due(3); n != 0 || b.load().Number != 3 {
		t.Errorf("%d applied, version %d", n, b.load().Number)
	}
	if f, err := b.LaterFile(t.Context(), l.ID); err != nil || f.Source != site("{name: A, weight: 2}") {
		t.Errorf("%+v, %v", f, err)
	}
	for _, err := range []error{second(b.CancelLater(t.Context(), 99, "")), second(b.LaterFile(t.Context(), 99))} {
		if !errors.Is(err, ErrNoLater) {
			t.Error(err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestLaterIsCheckedAtOnce(t *testing.T) {
	b := newBench(t)
	b.apply(site("{name: A}", "{name: B}"))
	r := LaterRequest{At: time.Now().Add(time.Hour), ApplyRequest: ApplyRequest{Name: "n.yml", Source: []byte("shares:\n  - {name: A, weight: -1}\n")}}
	_, err := b.ApplyLater(t.Context(), r)
	var problems strict.Problems
	if !errors.As(err, &problems) || !strings.HasPrefix(problems[0].Place(), "n.yml:2:") {
		t.Errorf("%v", err)
	}
	r.Source, r.At = []byte(site("{name: A}")), time.Now().Add(-time.Minute)
	if _, err := b.ApplyLater(t.Context(), r); !errors.Is(err, ErrPast) {
		t.Errorf("%v", err)
	}
	b.live["B"] = Live{Tasks: 1, Pieces: 1}
	l := b.later(site("{name: A}"), 1)
	if len(l.Notes) != 1 || !strings.HasPrefix(l.Notes[0], "would be refused now: share B is removed but has live work: 1 task, 1 piece to come (") {
		t.Errorf("notes %q", l.Notes)
	}
	if s := b.states(); s != "1 waiting 0;" {
		t.Errorf("stored: %s", s)
	}
}

// A file that cannot be applied any more fails alone, and nothing of it is in force.
func TestLaterFails(t *testing.T) {
	b := newBench(t)
	b.apply(site("{name: A}", "{name: B}"))
	b.later(site("{name: A, weight: 7}"), 1)
	b.later(site("{name: A, weight: 8}", "{name: B, weight: 2}"), 2)
	b.later(site("{name: A, weight: 9}", "{name: B, weight: 2}"), 3)
	b.later(site("{name: A, weight: 4}"), 4, "B", "A")
	if _, err := b.db.Exec(t.Context(), "UPDATE site_later SET source = 'shares: [{name: A, wieght: 1}]' WHERE id = 2"); err != nil {
		t.Fatal(err) // as if a newer program had stored what this one cannot read
	}
	b.live["B"] = Live{Tasks: 1, Ready: 3}
	before := b.dump()
	if n := b.due(2); n != 2 || b.states() != "1 failed 0;2 failed 0;3 waiting 0;4 waiting 0;" {
		t.Errorf("%d were due: %s", n, b.states())
	}
	if d := cmp.Diff(before, b.dump()); d != "" || b.load().Number != 1 {
		t.Errorf("half applied: %s", d)
	}
	list, err := b.Later(t.Context(), false)
	if err != nil || !strings.Contains(list[0].Error, "share B is removed but has live work: 1 task, 3 ready jobs") || !strings.Contains(list[1].Error, "night.yml:1:") {
		t.Errorf("%+v, %v", list, err)
	}
	if n := b.due(2); n != 2 || b.states() != "1 failed 0;2 failed 0;3 applied 2;4 applied 3;" || len(b.moved) != 1 {
		t.Errorf("%d were due: %s, moved %v", n, b.states(), b.moved)
	}
}

// Several daemons find the same files due; each is dealt with once.
func TestLaterOnSeveralDaemons(t *testing.T) {
	b := newBench(t)
	b.apply(site("{name: A}"))
	for i := range 6 {
		b.later(site(fmt.Sprintf("{name: A, weight: %d}", i+2)), 1)
	}
	pgtest.Age(t, b.db, "site_later", "effective_at", 2*time.Hour)
	var daemons sync.WaitGroup
	var mu sync.Mutex
	total := 0
	for range 4 {
		daemons.Go(func() {
			n, err := NewStore(Config{Pool: b.db}).ApplyDue(t.Context())
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			total += n
		})
	}
	daemons.Wait()
	if v := b.load(); total != 6 || v.Number != 7 || v.Tree.Nodes[1].Plan.Weight != 7 {
		t.Errorf("%d dealt with, version %d", total, v.Number)
	}
}
