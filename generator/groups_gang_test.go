package generator

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/dispatcher/dispatchertest"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/generator/spec"
)

// pullAll asks for all that a node of eight cores can get at once.
func pullAll(t *testing.T, d *dispatchertest.Dispatcher, wait float64) []dispatcher.Lease {
	t.Helper()
	reply, err := d.Pull(context.Background(), dispatcher.PullRequest{Queue: "CERN", Pilot: "p", Node: "n1", Slot: job.Slot{Cores: 8}, Max: 8, WaitS: wait})
	if err != nil && !errors.Is(err, dispatcher.ErrNoJobs) {
		t.Fatal(err)
	}
	return reply.Leases
}

// A gang waits until all of its jobs are made, however many transactions that takes; so do those of it that are tried again later.
func TestGangIsMadeInBatches(t *testing.T) {
	w := newWorld(t)
	cfg := w.config()
	cfg.Mark.Batch = 2
	w.generateBy(cfg)
	d := w.dispatch(t)
	ctx := context.Background()
	id := w.submit(t, managed(func(s *spec.Spec) {
		s.Count, s.MaxAttempts = 0, 1
		s.Groups = []spec.Group{{Name: "g", Members: []spec.Member{{Role: "a", Count: 2}, {Role: "b", Count: 3}}, Sharing: []spec.Sharing{{Template: "room", Scope: "per_replica"}}}}
		s.ClaimTemplates = []spec.ClaimTemplate{{Name: "room", Node: true, Gang: true}}
	})).ID
	made := 0
	for made < 5 {
		if got := pullAll(t, d, 0.2); len(got) > 0 {
			t.Fatalf("%d jobs are started while %d are made", len(got), made)
		}
		n, err := w.Generate(ctx)
		if err != nil || n == 0 {
			t.Fatal(n, err)
		}
		made += n
	}
	leases := pullAll(t, d, 10)
	if len(leases) != 5 {
		t.Fatalf("%d of 5 jobs are started", len(leases))
	}
	for i, l := range leases {
		end(t, d, []dispatcher.Outcome{dispatcher.Failed, dispatcher.Finished}[i%2], l)
	}
	w.awaitClaims(t, d, "")
	steps(t, w.Settle)
	if c, err := w.Say(ctx, VerbRetry, id, nil); err != nil || c.Again != 3 {
		t.Fatalf("%+v %v", c, err)
	}
	if n, err := w.Generate(ctx); n != 2 || err != nil {
		t.Fatal(n, err)
	}
	if got := pullAll(t, d, 0.2); len(got) > 0 {
		t.Fatalf("%d jobs are started while 2 of 3 are made", len(got))
	}
	steps(t, w.Generate)
	if leases = pullAll(t, d, 10); len(leases) != 3 {
		t.Fatalf("%d of 3 jobs are started", len(leases))
	}
	for _, l := range leases {
		end(t, d, dispatcher.Finished, l)
	}
	w.awaitClaims(t, d, "")
}

// A task whose gang is larger than its claim of a template of the site may have sharers is refused.
func TestGangOfATemplateOfTheSite(t *testing.T) {
	w := newWorld(t)
	w.apply(t, siteYAML+"claim_templates: [{name: room, node: true, gang: true, max_sharers: 2}]\n")
	_, err := w.Submit(context.Background(), SubmitRequest{Spec: managed(func(s *spec.Spec) {
		s.Count = 0
		s.Groups = []spec.Group{{Name: "g", Members: []spec.Member{{Role: "a", Count: 3}}, Sharing: []spec.Sharing{{Template: "room", Scope: "per_replica"}}}}
	})})
	if err == nil || !strings.Contains(err.Error(), "less than the 3 jobs that share a claim") {
		t.Error(err)
	}
}
