package intake_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"pgregory.net/rapid"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/intake"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/shares"
)

// claims makes some and returns their ids.
func (h *house) claims(t fail, task int64, all ...intake.NewClaim) (ids []int64) {
	t.Helper()
	h.in(t, func(tx pgx.Tx) (err error) {
		ids, err = intake.MakeClaims(h.t.Context(), tx, task, all)
		return err
	})
	return ids
}

// The log is told of a claim how many jobs more will hold it, and of one that people make that jobs wait for it.
func TestMakeClaims(t *testing.T) {
	h := newHouse(t, 100, 100)
	node, gang := shares.ClaimTemplate{Name: "node", Node: true}, shares.ClaimTemplate{Name: "gang", Node: true, Gang: true}
	a := intake.NewClaim{Key: "a", Template: node, SharingID: "who", Label: "l", Members: 5, Made: 3}
	disk := intake.NewClaim{Key: "disk", Outside: true}
	ids := h.claims(t, 1, a, disk)
	if len(ids) != 2 || ids[0] == ids[1] {
		t.Fatal(ids)
	}
	told := entry.Claimed{Claim: ids[0], Task: 1, Key: "a", Jobs: 5, Template: node, SharingID: "who", Label: "l"}
	waits := entry.Claimed{Claim: ids[1], Key: "disk", Missing: true}
	h.says(t, []entry.Entry{told, waits})
	a.Made = 2
	if again := h.claims(t, 1, a); again[0] != ids[0] {
		t.Errorf("another id for the same claim: %v, %v", again, ids)
	}
	h.says(t) // the log knows of these two
	a.Members, a.Made = 5, 1
	h.claims(t, 1, a) // a job that tries one again
	told.Jobs = 1
	h.says(t, []entry.Entry{told})
	if other := h.claims(t, 2, a, disk); other[0] == ids[0] || other[1] != ids[1] {
		t.Errorf("%v: a claim of another task is another one, what people make is the same", other)
	}
	h.said(t)

	g := intake.NewClaim{Key: "g", Template: gang, Members: 4, Made: 4}
	ids = h.claims(t, 1, g)
	h.said(t)
	g.Members, g.Made = 3, 1 // three of them are to be tried again, and start together
	h.claims(t, 1, g)
	h.says(t, []entry.Entry{entry.Claimed{Claim: ids[0], Task: 1, Key: "g", Jobs: 3, Template: gang}})
	g.Members, g.Made = 2, 2
	h.claims(t, 1, g)
	h.says(t)
	if none := h.claims(t, 1); none != nil {
		t.Error(none)
	}
}

// A task that is killed, or makes no more jobs, says of its claims that the rest will not come.
func TestWhatIsNotMadeIsDropped(t *testing.T) {
	h := newHouse(t, 100, 100)
	ids := h.claims(t, 1, intake.NewClaim{Key: "a", Members: 5, Made: 3}, intake.NewClaim{Key: "b", Members: 2, Made: 2})
	h.claims(t, 2, intake.NewClaim{Key: "a", Members: 2, Made: 1})
	h.enqueue(t, some(3, intake.NewJob{Task: 1, Share: 1, Shape: h.shape(t, 1), Claims: ids[:1]})...)
	h.said(t)
	h.in(t, func(tx pgx.Tx) error { return intake.Kill(t.Context(), tx, intake.Killing{}, 1) })
	h.says(t, []entry.Entry{entry.Killed{Task: 1, Low: 1, High: 3}}, []entry.Entry{entry.Dropped{Claim: ids[0], Unmade: 2}})
	h.in(t, func(tx pgx.Tx) error { return intake.Complete(t.Context(), tx, 1, 2) })
	if rows := h.said(t); len(rows) != 1 || len(rows[0]) != 1 || rows[0][0].(entry.Dropped).Unmade != 1 {
		t.Errorf("%v: one job of task 2 will not come", rows)
	}
}

// People's claims: made once, deleted once, a device of one at a time; what the machine refuses is not made.
func TestOutsideClaims(t *testing.T) {
	h := newHouse(t, 100, 100)
	ctx := t.Context()
	create := func(c intake.OutsideClaim) (id int64, err error) {
		err = pg.InTx(ctx, h.Pool, func(tx pgx.Tx) error { id, err = intake.CreateClaim(ctx, tx, c); return err })
		return id, err
	}
	disk := intake.OutsideClaim{Name: "disk", Queue: 3, Node: "n1", Devices: []string{"gpu:0"}, MaxSharers: 2}
	id, err := create(disk)
	if err != nil {
		t.Fatal(err)
	}
	made := entry.Claimed{Claim: id, Key: "disk", Queue: 3, Node: "n1", Devices: disk.Devices, Template: shares.ClaimTemplate{Name: "disk", MaxSharers: 2}}
	h.says(t, []entry.Entry{made})
	if again, err := create(disk); again != id || err != nil {
		t.Errorf("again: %d, %v", again, err)
	}
	h.claims(t, 1, intake.NewClaim{Key: "disk", Outside: true})
	h.says(t)
	elsewhere, other := disk, disk
	elsewhere.Node, other.Name = "n2", "other"
	if _, err := create(elsewhere); !errors.Is(err, intake.ErrClaimExists) {
		t.Errorf("elsewhere: %v", err)
	}
	if _, err := create(other); !errors.Is(err, intake.ErrDeviceTaken) || !strings.Contains(err.Error(), "disk") {
		t.Errorf("its device: %v", err)
	}
	h.says(t)
	remove := func() error {
		return pg.InTx(ctx, h.Pool, func(tx pgx.Tx) error { _, err := intake.DeleteClaim(ctx, tx, "disk"); return err })
	}
	if err := remove(); err != nil {
		t.Fatal(err)
	}
	h.says(t, []entry.Entry{entry.Unclaimed{Claim: id}})
	if err := remove(); !errors.Is(err, intake.ErrNoClaim) {
		t.Errorf("deleted twice: %v", err)
	}
	h.claims(t, 1, intake.NewClaim{Key: "disk", Outside: true})
	h.says(t, []entry.Entry{entry.Claimed{Claim: id, Key: "disk", Missing: true}})
	if _, err := create(disk); err != nil {
		t.Fatal(err)
	}
	h.exec("UPDATE outbox SET refused = 'jobs hold it still'")
	if err := remove(); !errors.Is(err, intake.ErrNoClaim) {
		t.Errorf("deleted, and the machine had refused it: %v", err)
	}
	if _, err := create(disk); err != nil {
		t.Errorf("once more: %v", err)
	}
	h.says(t, []entry.Entry{made})
	for field, c := range map[string]intake.OutsideClaim{"name": {}, "queue": {Name: "a"}, "node": {Name: "a", Queue: 1, Node: "a\n"},
		"devices[1]": {Name: "a", Queue: 1, Node: "n", Devices: []string{"x", "x"}}, "max_sharers": {Name: "a", Queue: 1, Node: "n", MaxSharers: -1}} {
		var f *job.FieldError
		if _, err := create(c); !errors.As(err, &f) || f.Field != field {
			t.Errorf("%v: want an error of %s", err, field)
		}
	}
}

// Scaled down: jobs by their names, as few entries as there are runs of them; claims that go, and that more or fewer jobs share.
func TestScaleAway(t *testing.T) {
	h := newHouse(t, 1000, 1000)
	ctx, shape := t.Context(), h.shape(t, 1)
	ids := h.claims(t, 1, intake.NewClaim{Key: "a", Members: 4, Made: 2}, intake.NewClaim{Key: "b", Members: 2, Made: 2}, intake.NewClaim{Key: "c", Members: 2, Made: 2})
	named := func(names ...string) {
		jobs := some(len(names), intake.NewJob{Task: 1, Share: 1, Shape: shape})
		for i, n := range names {
			jobs[i].Inputs = []string{n}
		}
		h.enqueue(t, jobs...)
	}
	named("0", "1", "2", "3")
	h.enqueue(t, some(2, intake.NewJob{Task: 2, Share: 1, Shape: shape, Inputs: []string{"1"}})...)
	named("4", "5", "1", "6")
	h.said(t)
	scale := func(s intake.Scaled) (out intake.ScaledAway) {
		t.Helper()
		s.Task = 1
		h.in(t, func(tx pgx.Tx) (err error) { out, err = intake.ScaleAway(ctx, tx, s); return err })
		return out
	}
	killed := func(low, high int64) entry.Entry {
		return entry.Killed{Task: 1, Low: low, High: high, Reason: "scaled", Idle: true}
	}
	out := scale(intake.Scaled{Names: []string{"3", "4", "1", "none"}, Untried: []int64{1, 9, 4}, Coming: 2})
	if diff := cmp.Diff(intake.ScaledAway{Jobs: []int64{2, 4, 7, 9}, Ended: 2, Coming: 1}, out); diff != "" {
		t.Error(diff)
	}
	h.says(t, []entry.Entry{killed(2, 2), killed(4, 7), killed(9, 9)})
	named("1")
	h.said(t)
	out = scale(intake.Scaled{Names: []string{"0", "2", "1", "5"}, Claims: []string{"b", "none"},
		Sizes: []intake.ClaimSize{{NewClaim: intake.NewClaim{Key: "a"}, More: -3}, {NewClaim: intake.NewClaim{Key: "c", Label: "l"}, More: 2}, {NewClaim: intake.NewClaim{Key: "z"}, More: 1}}})
	if diff := cmp.Diff(intake.ScaledAway{Jobs: []int64{1, 3, 8, 11}, Claims: 1}, out); diff != "" {
		t.Error(diff)
	}
	h.says(t, []entry.Entry{killed(1, 1), killed(3, 3), killed(8, 8), killed(11, 11)},
		[]entry.Entry{entry.Unclaimed{Claim: ids[1]}, entry.Dropped{Claim: ids[0], Unmade: 2}, entry.Claimed{Claim: ids[2], Task: 1, Key: "c", Jobs: 2, Label: "l"}})
	if again := h.claims(t, 1, intake.NewClaim{Key: "b", Members: 1, Made: 1}); again[0] == ids[1] {
		t.Error("a claim that drains got another job")
	}
}

// Whatever is made, retried, scaled and killed: the log is never told that fewer jobs come than do, and of no job that never comes once
// the task is complete.
func TestClaimsAddUp(t *testing.T) {
	h := newHouse(t, 100_000, 100_000)
	shape := h.shape(t, 1)
	task := int64(0)
	rapid.Check(t, func(r *rapid.T) {
		task++
		h.said(t)
		coming, left := map[int64]int{}, rapid.IntRange(1, 6).Draw(r, "members")
		members := left
		follow := func() {
			for _, e := range slices.Concat(h.said(r)...) {
				switch e := e.(type) {
				case entry.Claimed:
					coming[e.Claim] += e.Jobs
				case entry.Dropped:
					coming[e.Claim] -= e.Unmade
				case entry.Joined:
					for _, id := range e.Claims {
						if coming[id] -= int(e.High - e.Low + 1); coming[id] < 0 {
							r.Fatalf("jobs of claim %d that the log does not expect", id)
						}
					}
				}
			}
		}
		template := shares.ClaimTemplate{Name: "t", Gang: rapid.Bool().Draw(r, "gang")}
		for range rapid.IntRange(1, 6).Draw(r, "steps") {
			switch n := rapid.IntRange(1, 3).Draw(r, "n"); {
			case left > 0:
				n = min(n, left)
				left -= n
				ids := h.claims(r, task, intake.NewClaim{Key: "k", Template: template, Members: members, Made: n})
				h.enqueue(r, some(n, intake.NewJob{Task: task, Share: 1, Shape: shape, Claims: ids})...)
			case rapid.Bool().Draw(r, "retry"): // n of its jobs, all at once
				ids := h.claims(r, task, intake.NewClaim{Key: "k", Template: template, Members: n, Made: n})
				h.enqueue(r, some(n, intake.NewJob{Task: task, Share: 1, Shape: shape, Claims: ids, RetryOf: 1})...)
			default:
				left, members = left+n, members+n
				h.in(r, func(tx pgx.Tx) error {
					_, err := intake.ScaleAway(t.Context(), tx, intake.Scaled{Task: task, Sizes: []intake.ClaimSize{{NewClaim: intake.NewClaim{Key: "k", Template: template}, More: n}}})
					return err
				})
			}
			follow()
		}
		h.in(r, func(tx pgx.Tx) error { return intake.Complete(t.Context(), tx, task) })
		follow()
		for id, n := range coming {
			if n != 0 {
				r.Fatalf("claim %d waits for %d jobs, and the task is complete", id, n)
			}
		}
	})
}

// The machine takes claims with their jobs as they are said.
func TestMachineTakesClaims(t *testing.T) {
	h := newHouse(t, 100, 100)
	ids := h.claims(t, 1, intake.NewClaim{Key: "a", Template: shares.ClaimTemplate{Name: "a", Node: true}, Members: 5, Made: 3}, intake.NewClaim{Key: "out", Outside: true})
	h.enqueue(t, some(3, intake.NewJob{Task: 1, Share: 1, Shape: h.shape(t, 1), Claims: ids})...)
	h.in(t, func(tx pgx.Tx) error { return intake.Complete(t.Context(), tx, 1) })
	a := intake.NewClaim{Key: "a", Template: shares.ClaimTemplate{Name: "a", Node: true}, Members: 5, Made: 1}
	again := h.claims(t, 1, a, intake.NewClaim{Key: "out", Outside: true}) // a job that tries one again, though they are not over
	h.enqueue(t, some(1, intake.NewJob{Task: 1, Share: 1, Shape: h.shape(t, 1), Claims: again, RetryOf: 1})...)
	m := machine.New(machine.Config{})
	var n int64
	for _, e := range slices.Concat(h.said(t)...) {
		if err := m.Apply(e); err != nil {
			t.Fatalf("%+v: %v", e, err)
		}
	}
	for v := range m.View().Ready() {
		n += v.Ready
	}
	if n != 4 {
		t.Errorf("%d jobs are ready, want 4", n)
	}
}
