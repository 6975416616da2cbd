package generator

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/generator/view"
)

// A page of tasks for people: filters, orders, and pages that fit together.
func TestListing(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	submit := func(name, user, label string, priority int) int64 {
		s := spec.Spec{Name: name, User: user, Kind: spec.Kind{Label: label}, Share: "Test", Command: []string{"true"}, Count: 1 + int64(priority), Priority: priority}
		task, err := w.Submit(ctx, SubmitRequest{Spec: s})
		if err != nil {
			t.Fatal(err)
		}
		return task.ID
	}
	a, b := submit("reco-a", "ann", "user", 3), submit("reco-b", "ann", "managed", 1)
	c, d := submit("ana_c", "bob", "user", 2), submit("anaXd", "bob", "user", 2)
	if _, err := w.Say(ctx, VerbKill, a, nil); err != nil {
		t.Fatal(err)
	}
	for _, q := range []struct {
		what string
		l    view.Listing
		want []int64
	}{
		{"all", view.Listing{}, []int64{d, c, b, a}},
		{"not over", view.Listing{Live: true}, []int64{d, c, b}},
		{"of ann", view.Listing{User: "ann"}, []int64{b, a}},
		{"of ann, not over", view.Listing{User: "ann", Live: true}, []int64{b}},
		{"of nobody", view.Listing{User: "zoe"}, nil},
		{"by label", view.Listing{Label: "user"}, []int64{d, c, a}},
		{"by state", view.Listing{State: "aborting"}, nil},
		{"by name", view.Listing{Name: "reco-*"}, []int64{b, a}},
		{"a name with a _", view.Listing{Name: "ana_?"}, []int64{c}},
		{"by share", view.Listing{Share: "Test"}, []int64{d, c, b, a}},
		{"by another share", view.Listing{Share: "Tes"}, nil},
		{"by priority", view.Listing{Sort: "priority"}, []int64{a, d, c, b}},
		{"by priority, not over", view.Listing{Sort: "priority", Live: true}, []int64{d, c, b}},
		{"by jobs", view.Listing{Sort: "jobs", User: "ann"}, []int64{a, b}},
	} {
		got, err := w.List(ctx, q.l)
		if err != nil || !slices.Equal(idsOf(got.Tasks), q.want) || got.Next != "" || got.Among != 0 {
			t.Errorf("%s: %v %q %d, %v; want %v", q.what, idsOf(got.Tasks), got.Next, got.Among, err, q.want)
		}
	}
	for _, sort := range view.Sorts {
		whole, err := w.List(ctx, view.Listing{Sort: sort})
		if err != nil {
			t.Fatal(err)
		}
		var paged []int64
		for after, n := "", 0; n == 0 || after != ""; n++ {
			page, err := w.List(ctx, view.Listing{Sort: sort, Limit: 1, After: after})
			if err != nil || len(page.Tasks) != 1 {
				t.Fatalf("%s, page %d: %v, %v", sort, n, page, err)
			}
			paged, after = append(paged, page.Tasks[0].ID), page.Next
		}
		if !slices.Equal(paged, idsOf(whole.Tasks)) {
			t.Errorf("%s: page by page %v, at once %v", sort, paged, idsOf(whole.Tasks))
		}
	}
	for _, bad := range []view.Listing{{Sort: "size"}, {State: "odd"}, {After: "7"}, {After: "x.y"}} {
		if _, err := w.List(ctx, bad); !errors.Is(err, spec.ErrInvalid) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}
