package site

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/divvyhq/divvy/internal/access"
	"github.com/divvyhq/divvy/shares"
)

// with is a file with a queue, and what else it is to have.
func with(more ...string) string {
	return "shares: [{name: A}]\nqueues: [{name: q}, {name: p}]\n" + strings.Join(more, "\n") + "\n"
}

func TestDiffOfResources(t *testing.T) {
	b := newBench(t)
	b.apply(with("resources: [{name: a, capacity: 1}, {name: b, capacity: 2, split: {weights: {x: 1, y.z: 2}}, exempt: [u]}, {name: c, capacity: 3}]",
		"claim_templates: [{name: t, node: true, resources: {a: 1}}, {name: u, node: true}]"))
	a := b.apply(with("resources: [{name: d, capacity: 1, keyed: true}, {name: b, capacity: 5, per: queue, split: {by: label, tree: [{name: g, weight: 2, children: [x]}, z]}, max_hold: 2m}]",
		"claim_templates: [{name: t, devices: {gpu: 2}, max_sharers: 4, resources: {b: 1}}, {name: v, resources: {b: 1}}]"))
	var got []string
	for _, c := range a.Changes.Resources {
		got = append(got, c.Line("resource"))
	}
	for _, c := range a.Changes.ClaimTemplates {
		got = append(got, c.Line("claim template"))
	}
	want := []string{"resource d added", "resource b: capacity 2 → 5", "resource b: per global → queue", "resource b: split.by user → label",
		"resource b: split.tree/g/ – → 2", "resource b: split.tree/g/x – → 1", "resource b: split.tree/z – → 1", "resource b: max_hold 1m0s → 2m0s",
		"resource b: split.weights.x 1 → –", "resource b: split.weights.y.z 2 → –", "resource b: exempt.u yes → –", "resource a removed", "resource c removed",
		"claim template t: resources.b – → 1", "claim template t: devices.gpu – → 2", "claim template t: node true → false", "claim template t: max_sharers – → 4",
		"claim template t: resources.a 1 → –", "claim template v added", "claim template u removed"}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	back, err := b.Rollback(t.Context(), RollbackRequest{Version: 1, By: "bob"})
	if err != nil || len(back.Changes.Resources) != len(want)-7 {
		t.Errorf("rollback: %v, %d changes: %v", err, len(back.Changes.Resources), back.Changes.Resources)
	}
	if d, err := b.Diff(t.Context(), 1, 3); err != nil || !d.None() {
		t.Errorf("1 and its rollback differ: %+v, %v", d, err)
	}
}

// capacities are those in force of what the hook was given last, and what Load says, which must agree.
func (b *bench) capacities(refs ...string) (out []int64) {
	b.t.Helper()
	loaded := b.load().Version()
	for _, ref := range refs {
		ref, queue, _ := strings.Cut(ref, "@")
		r, ok := loaded.Resource(ref)
		hooked, _ := b.applied.Resource(ref)
		_, key := shares.CutResource(ref)
		if !ok || r.CapacityAt(key, queue) != hooked.CapacityAt(key, queue) {
			b.t.Fatalf("%s at %q: Load has %d (%v), the hook got %d", ref, queue, r.CapacityAt(key, queue), ok, hooked.CapacityAt(key, queue))
		}
		out = append(out, r.CapacityAt(key, queue))
	}
	return out
}

func TestCapacitySetBesideTheFile(t *testing.T) {
	b := newBench(t)
	file := with("resources: [{name: maya, capacity: 4}, {name: seats, capacity: 2, per: queue}, {name: table, capacity: 8, keyed: true}]")
	b.apply(file)
	set := func(resource, queue string, n int64) {
		t.Helper()
		b.order = nil
		c := SetCapacity{Resource: resource, Queue: queue, Capacity: &n, By: "ann"}
		if n < 0 {
			c.Capacity = nil
		}
		if err := b.SetResourceCapacity(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(b.order); got != "[barrier applied]" {
			t.Fatalf("setting %s called %s", resource, got)
		}
		b.order = nil
		if err := b.SetResourceCapacity(t.Context(), c); err != nil || b.order != nil {
			t.Fatalf("setting %s again called %s, %v", resource, b.order, err)
		}
	}
	want := func(want ...int64) {
		t.Helper()
		if got := b.capacities("maya", "seats@q", "seats@p", "table:orders", "table:users"); !slices.Equal(got, want) {
			t.Errorf("in force: %v, want %v", got, want)
		}
	}
	want(4, 2, 2, 8, 8)
	set("maya", "", 6)
	set("seats", "q", 0)
	set("table", "", 7)
	set("table:users", "", 9)
	want(6, 0, 2, 7, 9)
	if a := b.apply(strings.ReplaceAll(file, "capacity: 4", "capacity: 5")); len(a.Notes) != 1 || !strings.Contains(a.Notes[0], "maya") {
		t.Errorf("notes %q", a.Notes)
	}
	want(6, 0, 2, 7, 9)
	b.apply(strings.ReplaceAll(file, "name: q}", "name: q2, was: q}"))
	if got := b.capacities("seats@q2", "seats@p"); !slices.Equal(got, []int64{0, 2}) {
		t.Errorf("a renamed queue has %v", got)
	}
	b.apply(strings.ReplaceAll(file, "name: q}", "name: q, was: q2}"))
	set("table:users", "", -1)
	want(6, 0, 2, 7, 7)
	set("maya", "", -1)
	set("table", "", -1)
	want(4, 0, 2, 8, 8)
	set("seats", "", 1)
	want(4, 0, 1, 8, 8)
	b.apply(with("resources: [{name: seats, capacity: 2}, {name: table, capacity: 8, keyed: true}]")) // not per queue any more
	b.apply(file)
	want(4, 1, 1, 8, 8)
	a := b.apply(with("resources: [{name: maya, capacity: 4}]"))
	if len(a.Notes) != 1 || !strings.Contains(a.Notes[0], "seats") {
		t.Errorf("notes %q", a.Notes)
	}
	b.apply(file)
	want(4, 2, 2, 8, 8)
}

func TestCapacityThatCannotBe(t *testing.T) {
	b := newBench(t)
	b.apply(with("resources: [{name: maya, capacity: 4}, {name: seats, capacity: 2, per: queue}, {name: table, capacity: 8, keyed: true}]"))
	before := b.dump()
	for _, c := range []struct {
		resource, queue string
		n               int64
		want            error
	}{
		{"nuke", "", 1, ErrUnknownResource}, {"maya", "q", 1, ErrCapacity}, {"maya:x", "", 1, ErrCapacity}, {"table:", "", 1, ErrCapacity},
		{"seats", "r", 1, ErrUnknownQueue}, {"maya", "", -1, ErrCapacity}, {"maya", "", shares.MaxResourceUnits + 1, ErrCapacity},
	} {
		b.order = nil
		if err := b.SetResourceCapacity(t.Context(), SetCapacity{Resource: c.resource, Queue: c.queue, Capacity: &c.n}); !errors.Is(err, c.want) || b.order != nil {
			t.Errorf("%+v: %v after %v", c, err, b.order)
		}
	}
	if after := b.dump(); after != before {
		t.Errorf("something was written:\n%s", cmp.Diff(before, after))
	}
}

// What jobs read and write at queues is a resource that no file has: of the queues that bound it, in kB/s.
func TestVersionHasIO(t *testing.T) {
	s, err := Parse("f", []byte("shares: [{name: A}]\nqueues: [{name: q, max_io: 1.5}, {name: p}]\nresources: [{name: maya, capacity: 4}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	v := s.Version()
	io, ok := v.Resource(shares.IO)
	if !ok || !io.BoundAt("q") || io.BoundAt("p") || io.CapacityAt("", "q") != 1500 || io.CapacityAt("", "p") != shares.NoBound {
		t.Errorf("%+v", io)
	}
	if len(s.Resources) != 1 || v.ResourceNames() != "maya" {
		t.Errorf("the site has %v and names %s", s.Resources, v.ResourceNames())
	}
}

// The audit has capacities in whole units, as they were given.
func TestCapacityInTheAudit(t *testing.T) {
	b := newBench(t)
	b.apply(with("resources: [{name: seats, capacity: 2, per: queue}]"))
	ctx := access.With(t.Context(), &access.Caller{Name: "ann", Role: access.Operator})
	three, five := int64(3), int64(5)
	for _, n := range []*int64{&three, &five, nil} {
		if err := b.SetResourceCapacity(ctx, SetCapacity{Resource: "seats", Queue: "q", Capacity: n}); err != nil {
			t.Fatal(err)
		}
	}
	all, err := access.NewStore(b.db).Audit(ctx, access.AuditFilter{What: "resource.capacity", Limit: 9})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, a := range slices.Backward(all) {
		got = append(got, a.Object+": "+a.Before+" → "+a.After)
	}
	if d := cmp.Diff([]string{"seats at q: that of the file → 3", "seats at q: 3 → 5", "seats at q: 5 → that of the file"}, got); d != "" {
		t.Error(d)
	}
}
