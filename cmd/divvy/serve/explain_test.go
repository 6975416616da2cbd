package serve

import (
	"testing"
	"time"

	"github.com/divvyhq/divvy/cmd/divvy/servetest"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/api/wire"
	gates "github.com/divvyhq/divvy/dispatcher/explain"
)

// Whichever daemon is asked, the answer is that of the one that decides: only it knows of pilots.
func TestExplainAsksTheDaemonThatDecides(t *testing.T) {
	t.Parallel()
	_, cls := together(t, 2)
	task, err := cls[1].Tasks().Submit(t.Context(), servetest.Hello(2), "")
	if err != nil {
		t.Fatal(err)
	}
	got, err := cls[1].Pull(t.Context(), wire.PullRequest{Queue: "LOCAL", Pilot: "p", WaitS: 20})
	if err != nil {
		t.Fatal(err)
	}
	servetest.Eventually(t, 20*time.Second, func() (bool, string) {
		jobs, err := cls[1].Jobs().List(t.Context(), client.JobFilter{Task: task.ID, State: "ready"})
		if err != nil || len(jobs.Items) != 1 {
			return false, "the second job is not ready"
		}
		e, err := cls[1].Jobs().Explain(t.Context(), jobs.Items[0].ID)
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range e.Queues {
			if q.Queue == "LOCAL" && q.Pilots == 1 && q.Gate == string(gates.GateNone) && e.ETA.Known {
				return true, ""
			}
		}
		return false, e.Summary
	})
	if e, err := cls[1].Jobs().Explain(t.Context(), got.Leases[0].Job); err != nil || e.State != "leased" || e.Decision == nil || e.Decision.Pilot != "p" {
		t.Errorf("%+v, %v", e, err)
	}
	if _, err := cls[1].Jobs().Explain(t.Context(), 1<<40); !client.IsCode(err, "no_job") {
		t.Errorf("%v, want no_job", err)
	}
	if _, err := cls[1].Shares().Why(t.Context(), "No", "Where", client.WhyOptions{}); !client.IsCode(err, "invalid") {
		t.Errorf("%v, want invalid", err)
	}
}
