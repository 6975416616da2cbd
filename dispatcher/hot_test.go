package dispatcher

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/lease"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/shares"
)

// hotStage leads over two queues, of which one is closed, and a thousand jobs.
func hotStage(t *testing.T) *stage {
	v := siteOf(20, 2)
	v.Queues[1].State = shares.Offline
	s := newTables(t)
	s.render = renderTrue
	s.open(t, v)
	t.Cleanup(func() { s.stop() })
	s.stock(t, v, 1000)
	return s
}

// pull asks the leader for jobs.
func (d *Dispatcher) pull(ctx context.Context, p machine.Pull, wait time.Duration) ([]machine.Lease, error) {
	a, err := d.ask(ctx, lease.Ask{Pull: &p, Wait: wait})
	return a.Leases, err
}

// renderTrue has pilots do nothing.
func renderTrue(_ context.Context, leases []machine.Lease) (runs []Run, err error) {
	for range leases {
		runs = append(runs, Run{Filled: job.Filled{Command: []string{"true"}}, Need: job.Requirements{Cores: 1}})
	}
	return runs, nil
}

func request(id string) PullRequest {
	return PullRequest{Queue: "q0", Pilot: "p", Slot: job.Slot{Cores: 1}, RequestID: id, WaitS: 1}
}

// One pilot's day by the types of the API.
func TestLifeByRequests(t *testing.T) {
	s := hotStage(t)
	first, err := s.Pull(t.Context(), request("one"))
	if err != nil || len(first.Leases) != 1 || first.RenewAfter != 60 {
		t.Fatalf("%+v, %v", first, err)
	}
	l := first.Leases[0]
	if l.Job == 0 || l.Attempt != 1 || l.Share == "" || l.ExpiresIn != 90 || !slices.Equal(l.Command, []string{"true"}) || l.Cores != 1 {
		t.Errorf("%+v", l)
	}
	patient := request("one")
	patient.WaitS = 0
	if again, err := s.Pull(t.Context(), patient); err != nil || len(again.Leases) != 1 || again.Leases[0].Lease != l.Lease {
		t.Errorf("the same request again: %+v, %v", again, err)
	}
	other := request("one")
	other.Max = 2
	if _, err := s.Pull(t.Context(), other); !errors.Is(err, ErrRequestReused) {
		t.Errorf("another body: %v", err)
	}
	renewed, err := s.Renew(t.Context(), RenewRequest{Pilot: "p", Leases: []Renewal{{Lease: l.Lease, State: Running, Usage: Usage{CPUSeconds: 1.5, MemoryMB: 7}}, {Lease: "none"}}})
	if err != nil || !slices.Equal(renewed.Kept, []string{l.Lease}) || !slices.Equal(renewed.Lost, []string{"none"}) || len(renewed.Cancel) != 0 {
		t.Errorf("%+v, %v", renewed, err)
	}
	said, err := s.ask(t.Context(), lease.Ask{Seen: []int64{l.Job, 1 << 40}})
	if seen := said.Seen; err != nil || seen[0].State != lease.Running || seen[0].CPUMilli != 1500 || seen[0].MemoryMB != 7 ||
		time.Since(seen[0].At).Abs() > time.Minute || !seen[1].At.IsZero() {
		t.Errorf("%+v, %v", seen, err)
	}
	code := 3
	result := Result{Lease: l.Lease, Outcome: Failed, ExitCode: &code, Message: "out of \x00disk", Report: map[string]any{"why": "disk\x00", "n": json.Number("1e999")}, LogTail: "x"}
	for range 2 {
		if out, err := s.Finish(t.Context(), FinishRequest{Pilot: "p", Results: []Result{result}}); err != nil || out.Verdicts[0] != (Verdict{l.Lease, Recorded, "ready"}) {
			t.Errorf("%+v, %v", out, err)
		}
	}
	result.Outcome = Finished
	if out, err := s.Finish(t.Context(), FinishRequest{Pilot: "p", Results: []Result{result, {Lease: "none", Outcome: Failed}}}); err != nil || out.Verdicts[0].Verdict != LeaseLost || out.Verdicts[1].Verdict != LeaseLost {
		t.Errorf("another word: %+v, %v", out, err)
	}
	if _, err := s.Pull(t.Context(), patient); !errors.Is(err, ErrRequestOver) {
		t.Errorf("all leases have ended: %v", err)
	}
	var reason, why string
	if err := s.db.QueryRow(t.Context(), "SELECT reason, report ->> 'why' FROM attempt_texts WHERE job_id = $1", l.Job).Scan(&reason, &why); err != nil || reason != "out of disk" || why != "disk\ufffd" {
		t.Errorf("%q, %q, %v", reason, why, err)
	}
}

// What is wrong is said by name, before anything is asked of anybody.
func TestWrongRequests(t *testing.T) {
	s := hotStage(t)
	pull := func(change func(*PullRequest)) error {
		r := request("")
		change(&r)
		_, err := s.Pull(t.Context(), r)
		return err
	}
	if err := pull(func(r *PullRequest) { r.Queue = "q9" }); !errors.Is(err, ErrUnknownQueue) || err.Error() != `unknown queue "q9": the site has q0, q1` {
		t.Error(err)
	}
	if err := pull(func(r *PullRequest) { r.Queue = "q1" }); !errors.Is(err, ErrQueueClosed) {
		t.Error(err)
	}
	for field, change := range map[string]func(*PullRequest){
		"queue":      func(r *PullRequest) { r.Queue = "" },
		"pilot":      func(r *PullRequest) { r.Pilot = "a\x00" },
		"max":        func(r *PullRequest) { r.Max = 1001 },
		"wait_s":     func(r *PullRequest) { r.WaitS = -1 },
		"slot":       func(r *PullRequest) { r.Slot.MemoryMB = -1 },
		"devices[0]": func(r *PullRequest) { r.Devices = []string{"\xff"} },
	} {
		var wrong *job.FieldError
		if err := pull(change); !errors.As(err, &wrong) || wrong.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
	var wrong *job.FieldError
	if _, err := s.Renew(t.Context(), RenewRequest{Leases: []Renewal{{Lease: "x", State: "asleep"}}}); !errors.As(err, &wrong) || wrong.Field != "leases[0].state" {
		t.Error(err)
	}
	if _, err := s.Finish(t.Context(), FinishRequest{Results: []Result{{Lease: "x", Outcome: "lost"}}}); !errors.As(err, &wrong) || wrong.Field != "results[0].outcome" {
		t.Error(err)
	}
	s.Drain()
	if err := pull(func(*PullRequest) {}); !errors.Is(err, ErrStopping) {
		t.Error(err)
	}
}

// Leases whose jobs cannot be read are given back at once.
func TestUnreadableJobs(t *testing.T) {
	s := hotStage(t)
	away := errors.New("the database is away")
	s.Dispatcher.cfg.Render = func(context.Context, []machine.Lease) ([]Run, error) { return nil, away }
	if _, err := s.Pull(t.Context(), request("")); !errors.Is(err, away) {
		t.Fatal(err)
	}
	s.Dispatcher.cfg.Render = renderTrue
	waitFor(t, func() bool {
		var returned int
		err := s.db.QueryRow(t.Context(), "SELECT count(*) FROM batches WHERE ended_outcomes LIKE '%r%'").Scan(&returned)
		return err == nil && returned == 1
	})
	reply, err := s.Pull(t.Context(), request(""))
	if err != nil || reply.Leases[0].Attempt != 2 {
		t.Errorf("%+v, %v: want the job that was given back", reply, err)
	}
}

// A pilot that has to end gives its job back, which costs no attempt; but not for ever.
func TestPilotsGiveJobsBack(t *testing.T) {
	s := hotStage(t)
	for attempt := 1; attempt <= mostReturned+1; attempt++ {
		reply, err := s.Pull(t.Context(), request(""))
		if err != nil || len(reply.Leases) != 1 || reply.Leases[0].Attempt != attempt {
			t.Fatalf("attempt %d: %+v, %v", attempt, reply, err)
		}
		end := FinishRequest{Pilot: "p", Results: []Result{{Lease: reply.Leases[0].Lease, Outcome: Revoked, Message: "the pilot had to end"}}}
		for range 2 { // the second one is a repeat
			said, err := s.Finish(t.Context(), end)
			if err != nil || said.Verdicts[0].Verdict != Recorded || (said.Verdicts[0].JobState == "ready") != (attempt <= mostReturned) {
				t.Errorf("attempt %d: %+v, %v", attempt, said, err)
			}
		}
	}
}
