package generator

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/generator/spec"
)

// Pieces that are too large for any pilot are split until they are not, by a rule of the site and with the real dispatcher.
func TestSplitUntilItFits(t *testing.T) {
	w := newWorld(t)
	w.apply(t, siteYAML+"retry_rules: [{name: large, match: {message: too large}, action: split_smaller}]\n")
	d := w.dispatch(t)
	task := w.submit(t, managed(func(s *spec.Spec) {
		s.Count, s.Events, s.MaxAttempts, s.Command = 0, &spec.Events{Total: 23, PerJob: 12}, 4, []string{"run", "{{.Events}}"}
	}))
	steps(t, w.Generate)
	ctx := context.Background()
	for round := 0; w.task(t, task.ID).State != "done"; round++ {
		if round == 100 {
			t.Fatalf("%+v: %s", w.task(t, task.ID), w.halvesOf(t, task.ID))
		}
		reply, err := d.Pull(ctx, dispatcher.PullRequest{Queue: "CERN", Pilot: "p", Max: 100, WaitS: 0.2})
		if err != nil && !errors.Is(err, dispatcher.ErrNoJobs) {
			t.Fatal(err)
		}
		var results []dispatcher.Result
		for _, l := range reply.Leases {
			r := dispatcher.Result{Lease: l.Lease, Outcome: dispatcher.Finished}
			if events, err := strconv.Atoi(l.Command[1]); events > 3 || err != nil {
				r.Outcome, r.Message = dispatcher.Failed, "the input is too large"
			}
			results = append(results, r)
		}
		if _, err := d.Finish(ctx, dispatcher.FinishRequest{Pilot: "p", Results: results}); err != nil {
			t.Fatal(err)
		}
		for _, step := range []func(context.Context) (int, error){w.Settle, w.Sweep, w.Settle} {
			if _, err := step(ctx); err != nil {
				t.Fatal(err)
			}
		}
	}
	want := "0+3 3/4; 3+3 1/2; 6+3 2/3; 9+3 1/2; 12+3 3/4; 15+3 1/2; 18+3 2/3; 21+2 1/2"
	if got := jobs[string](t, w, `SELECT string_agg(first_event || '+' || n_events || ' ' || attempt || '/' || max_attempts, '; ' ORDER BY first_event)
		FROM over_jobs WHERE state = 'finished'`); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	half := jobs[int64](t, w, "SELECT id FROM over_jobs WHERE first_event = 6")
	first := jobs[int64](t, w, "SELECT id FROM over_jobs WHERE first_event = 0")
	j, err := d.Job(ctx, first)
	if err != nil || len(j.Attempts) != 3 || !strings.HasPrefix(j.Attempts[0].Judged, "rule large: split_smaller: the second half of its piece is job ") {
		t.Errorf("%+v, %v", j, err)
	}
	if j, err := d.Job(ctx, half); err != nil || j.HalfOf != first || j.FirstEvent == nil || *j.FirstEvent != 6 || j.Events != 3 {
		t.Errorf("%+v, %v", j, err)
	}
	w.recount(t)
}
