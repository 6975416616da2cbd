package access

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/internal/pgtest"
)

// Entries stand and fall with the transaction of the change, are cut, and need somebody who made it.
func TestRecord(t *testing.T) {
	b := newBench(t)
	alice := With(t.Context(), &Caller{ID: 7, Name: "alice", Role: Submitter, Subject: Subject{User: "alice"}})
	undone := errors.New("undone")
	write := func(what string, end error) {
		t.Helper()
		err := pg.InTx(alice, b.db, func(tx pgx.Tx) error {
			if err := Record(alice, tx, Change{What: what, Object: "1", Before: "a", After: strings.Repeat("é", 3000)}, Change{What: what, Object: "2"}); err != nil {
				return err
			}
			return errors.Join(end, Record(t.Context(), tx, Change{What: "nobody.did"}), Record(alice, tx))
		})
		if !errors.Is(err, end) {
			t.Fatal(err)
		}
	}
	write("task.kill", nil)
	write("task.pause", undone)
	write("job.kill", nil)
	list := func(f AuditFilter) (all []Audited) {
		t.Helper()
		if f.Limit == 0 {
			f.Limit = 10
		}
		all, err := b.Audit(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	all := list(AuditFilter{})
	if len(all) != 4 || all[0].What != "job.kill" || all[3].What != "task.kill" || all[3].Who != "alice" || all[3].Role != "submitter" || all[3].Subject != "user alice" ||
		all[3].Before != "a" || all[3].After != strings.Repeat("é", 2000) {
		t.Errorf("%+v", all)
	}
	for _, c := range []struct {
		filter AuditFilter
		n      int
	}{
		{AuditFilter{What: "task"}, 2}, {AuditFilter{What: "task.kill", Object: "1"}, 1}, {AuditFilter{What: "kill"}, 0}, {AuditFilter{Who: "bob"}, 0},
		{AuditFilter{Since: time.Now().Add(time.Hour)}, 0}, {AuditFilter{Before: all[1].ID}, 2}, {AuditFilter{Limit: 3}, 3},
	} {
		if got := list(c.filter); len(got) != c.n {
			t.Errorf("%+v: %d, want %d", c.filter, len(got), c.n)
		}
	}
}

// Tokens that are made and revoked are in it, a repeat is not.
func TestTokensAreAudited(t *testing.T) {
	b := newBench(t)
	root := With(t.Context(), &Caller{Name: "root", Role: Admin})
	if _, err := b.Create(root, New{Name: "p", Role: Pilot, Subject: Subject{Queues: []string{"CERN"}}, ExpiresS: 60, By: "root"}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := b.Revoke(root, "p", "root"); err != nil && !errors.Is(err, ErrNoToken) {
			t.Fatal(err)
		}
	}
	all, err := b.Audit(t.Context(), AuditFilter{Limit: 10})
	if err != nil || len(all) != 2 || all[0].What != "token.revoke" || all[0].After != "revoked" || all[1].What != "token.create" ||
		!strings.Contains(all[1].After, "pilot of queues CERN, until ") {
		t.Errorf("%+v %v", all, err)
	}
}

func TestPurgeAudit(t *testing.T) {
	b := newBench(t)
	note := func() {
		t.Helper()
		ctx := With(t.Context(), &Caller{Name: "x", Role: Admin})
		if err := pg.InTx(ctx, b.db, func(tx pgx.Tx) error { return Record(ctx, tx, Change{What: "a.b"}, Change{What: "a.c"}) }); err != nil {
			t.Fatal(err)
		}
	}
	note()
	pgtest.Age(t, b.db, "audit", "at", 48*time.Hour)
	note()
	for _, c := range []struct {
		keep time.Duration
		n    int
	}{{0, 0}, {72 * time.Hour, 0}, {24 * time.Hour, 2}, {24 * time.Hour, 0}} {
		if n, err := b.PurgeAudit(t.Context(), c.keep); err != nil || n != c.n {
			t.Errorf("keep %s: %d %v, want %d", c.keep, n, err, c.n)
		}
	}
}

// Who looks again and again reads a bounded number of entries a page; the pages together are all there is.
func TestAuditAmong(t *testing.T) {
	b := newBench(t)
	note := func(who string, changes ...Change) {
		t.Helper()
		ctx := With(t.Context(), &Caller{Name: who, Role: Operator})
		if err := pg.InTx(ctx, b.db, func(tx pgx.Tx) error { return Record(ctx, tx, changes...) }); err != nil {
			t.Fatal(err)
		}
	}
	for _, who := range []string{"ann", "bob", "bob", "bob", "ann", "bob", "bob"} {
		note(who, Change{What: "task.kill", Object: "1"})
	}
	pages := func(f AuditFilter, among int) (sizes []int, all []Audited) {
		t.Helper()
		for {
			got, err := b.AuditAmong(t.Context(), f, among)
			if err != nil {
				t.Fatal(err)
			}
			sizes, all = append(sizes, len(got.Items)), append(all, got.Items...)
			if got.Next == 0 {
				return sizes, all
			}
			f.Before = got.Next
		}
	}
	for _, c := range []struct {
		filter AuditFilter
		among  int
		sizes  []int
	}{
		{AuditFilter{Limit: 10}, 100, []int{7}},
		{AuditFilter{Limit: 10}, 3, []int{3, 3, 1}},
		{AuditFilter{Limit: 10, Who: "ann"}, 2, []int{0, 1, 0, 1}},
		{AuditFilter{Limit: 1, Who: "ann"}, 3, []int{1, 0, 1, 0}},
		{AuditFilter{Limit: 10, Who: "eve"}, 3, []int{0, 0, 0}},
		{AuditFilter{Limit: 10, Since: time.Now().Add(time.Hour)}, 3, []int{0}},
	} {
		sizes, all := pages(c.filter, c.among)
		if !slices.Equal(sizes, c.sizes) {
			t.Errorf("%+v among %d: pages of %v, want %v", c.filter, c.among, sizes, c.sizes)
		}
		want, err := b.Audit(t.Context(), AuditFilter{Who: c.filter.Who, Since: c.filter.Since, Limit: 10})
		if err != nil || !slices.Equal(all, want) {
			t.Errorf("%+v among %d: %v, want %v (%v)", c.filter, c.among, all, want, err)
		}
	}
}
