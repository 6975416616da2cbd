package dispatcher

import (
	"errors"
	"reflect"
	"testing"

	"github.com/divvyhq/divvy/dispatcher/lease"
)

// What a pilot reports while its attempt runs is shown of it, and stays below what is said at the end, also where nothing is.
func TestReportsOfRenewals(t *testing.T) {
	p := newPlace(t)
	w := p.start(1)
	ids := p.jobs(2, "")
	said := func(l Lease, report map[string]any) {
		t.Helper()
		waitFor(t, func() bool {
			reply, err := w.Renew(t.Context(), RenewRequest{Pilot: "p", Leases: []Renewal{{Lease: l.Lease, Report: report}}})
			return err == nil && len(reply.Kept) == 1
		})
	}
	shown := func(id int64, want map[string]any) {
		t.Helper()
		waitFor(t, func() bool {
			j, err := w.Job(t.Context(), id)
			return err == nil && len(j.Attempts) == 1 && reflect.DeepEqual(j.Attempts[0].Report, want)
		})
		many, err := w.JobsByID(t.Context(), []int64{id})
		if err != nil || !reflect.DeepEqual(many[0].Attempts[0].Report, want) {
			t.Errorf("in a list: %v, %v; want %v", many, err, want)
		}
	}
	first, second := w.must(t, "n"), w.must(t, "n")
	said(first, map[string]any{"a": "x", "b": 1})
	said(first, map[string]any{"b": 2})
	shown(first.Job, map[string]any{"a": "x", "b": 2.0})
	said(second, map[string]any{"c": true})
	if _, err := w.Finish(t.Context(), FinishRequest{Pilot: "p", Results: []Result{
		{Lease: first.Lease, Outcome: Finished, Report: map[string]any{"b": 3, "d": nil}}, {Lease: second.Lease, Outcome: Failed}}}); err != nil {
		t.Fatal(err)
	}
	shown(first.Job, map[string]any{"a": "x", "b": 3.0, "d": nil})
	waitFor(t, func() bool {
		j, err := w.Job(t.Context(), second.Job)
		return err == nil && j.Attempts[0].EndedAt != nil && reflect.DeepEqual(j.Attempts[0].Report, map[string]any{"c": true})
	})
	if again := w.must(t, "n"); again.Job != second.Job || again.Attempt != 2 || len(ids) != 2 {
		t.Errorf("%+v", again)
	} else {
		said(again, map[string]any{"e": 5})
		waitFor(t, func() bool {
			j, err := w.Job(t.Context(), second.Job)
			return err == nil && len(j.Attempts) == 2 && reflect.DeepEqual(j.Attempts[1].Report, map[string]any{"e": 5.0})
		})
	}
	var left int
	if err := p.db.QueryRow(t.Context(), "SELECT count(*) FROM lease_reports").Scan(&left); err != nil || left != 1 {
		t.Errorf("%d reports of attempts that run, %v", left, err)
	}
}

// Reports wait until they are written for all at once; an end takes what waits with it, and what could not be written waits again.
func TestReportsWait(t *testing.T) {
	t.Parallel()
	var r reported
	one, two := lease.Key{Job: 1, Attempt: 1}, lease.Key{Job: 2, Attempt: 1}
	type said = map[string]any
	r.note(one, said{"a": 1, "b": 1})
	r.note(one, said{"b": 2})
	r.note(two, nil)
	if got := r.under(one, said{"c": 3, "a": 4}); !reflect.DeepEqual(got, said{"a": 4, "b": 2, "c": 3}) {
		t.Errorf("an end says %v", got)
	}
	all := r.take()
	if want := (map[lease.Key]said{one: {"a": 1, "b": 2}}); !reflect.DeepEqual(all, want) || len(r.take()) != 0 {
		t.Errorf("%v waits, want %v, once", all, want)
	}
	r.note(one, said{"b": 5})
	r.back(all)
	r.note(two, said{"d": 1})
	r.over([]lease.End{{Key: two}})
	if got, want := r.take(), (map[lease.Key]said{one: {"a": 1, "b": 5}}); !reflect.DeepEqual(got, want) {
		t.Errorf("%v waits after it could not be written, want %v", got, want)
	}
	for i := range mostReported + 1 {
		r.note(lease.Key{Job: int64(i)}, said{"a": 1})
	}
	if n := len(r.take()); n != mostReported {
		t.Errorf("reports of %d leases wait, want at most %d", n, mostReported)
	}
}

// A job that holds claims is told where they are and which devices they have, whichever daemon its pilot asked, and a repeat too.
func TestClaimsInTheEnvironment(t *testing.T) {
	p := newPlace(t)
	first, second := p.start(1), p.start(2)
	waitFor(t, func() bool {
		_, err := first.CreateClaim(t.Context(), OutsideClaim{Name: "my-rack", Queue: "q", Node: "n1", Devices: []string{"gpu:0", "gpu:1"}})
		return err == nil
	})
	p.jobs(2, "my-rack")
	for i, w := range []*worker{first, second} {
		for range 2 {
			var reply PullReply
			waitFor(t, func() bool {
				var err error
				reply, err = w.Pull(t.Context(), PullRequest{Queue: "q", Pilot: "p", Node: "n1", WaitS: 1, RequestID: string(rune('a' + i))})
				if err != nil && !errors.Is(err, ErrNoJobs) && !errors.Is(err, ErrUnavailable) {
					t.Fatal(err)
				}
				return err == nil
			})
			env := reply.Leases[0].Env
			if env["DIVVY_CLAIM_MY_RACK_NODE"] != "n1" || env["DIVVY_CLAIM_MY_RACK_DEVICES"] != "gpu:0,gpu:1" {
				t.Errorf("daemon %d: %v", i+1, env)
			}
		}
	}
	p.jobs(1, "")
	if l := first.must(t, "n1"); len(l.Env) > 0 && l.Env["DIVVY_CLAIM_MY_RACK_NODE"] != "" {
		t.Errorf("a job without claims has %v", l.Env)
	}
}
