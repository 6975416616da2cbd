package panda

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/divvyhq/divvy/api/panda/wire"
	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/internal/pgtest"
)

// each runs a scenario with pilots of both generations, which ends all jobs that it makes.
func each(t *testing.T, scenario func(t *testing.T, w *world, pilot func() *fakePilot)) {
	w := newWorld(t, func(c *dispatcher.Config) { c.Timing.TTL, c.Timing.First = time.Second, time.Minute })
	n := 0
	for _, generation := range []string{"old", "new"} {
		t.Run(generation, func(t *testing.T) {
			scenario(t, w.in(t), func() *fakePilot {
				n++
				return &fakePilot{t: t, url: w.url, new: generation == "new", node: fmt.Sprintf("vm%d", n)}
			})
		})
	}
}

// id is the job that a pilot has or had.
func (p *fakePilot) id() int64 {
	p.t.Helper()
	id, had := p.job["PandaID"].(float64)
	if !had {
		p.t.Fatal("the pilot never got a job")
	}
	return int64(id)
}

func TestFinishes(t *testing.T) {
	each(t, func(t *testing.T, w *world, pilot func() *fakePilot) {
		task := w.submit(1, 1, "sh", "-c", `echo "$COLOUR" $DIVVY_JOB $DIVVY_TASK $DIVVY_ATTEMPT $DIVVY_QUEUE $DIVVY_SHARE it\'s {{.Index}}`)
		p := pilot()
		if !p.run() {
			t.Fatal(p.job)
		}
		if want := fmt.Sprintf("dark red %d %d 1 LOCAL_TEST Prod it's 0\n", p.id(), task.ID); p.output != want {
			t.Errorf("payload says %q, want %q", p.output, want)
		}
		for key, want := range map[string]any{"prodSourceLabel": "managed", "processingType": "simul", "workingGroup": "AP_HIGG", "prodUserID": "alice",
			"resource_type": "SCORE", "coreCount": 1.0, "taskID": float64(task.ID), "jobName": fmt.Sprintf("sim.%d", p.id())} {
			if p.job[key] != want {
				t.Errorf("%s is %v, want %v", key, p.job[key], want)
			}
		}
		j := w.job(p.id())
		a := j.Attempts[0]
		if j.State != "finished" || a.StartedAt == nil || a.Usage != (dispatcher.Usage{CPUSeconds: 12, MemoryMB: 256}) || a.Node != p.node {
			t.Errorf("%+v", j)
		}
		if log, err := w.dispatcher.JobLog(context.Background(), p.id(), 1); err != nil || !strings.Contains(log, "dark red") {
			t.Errorf("%q %v", log, err)
		}
	})
}

// The curl that a pilot falls back to sends forms, every value a string.
func TestFinishesByForms(t *testing.T) {
	each(t, func(t *testing.T, w *world, pilot func() *fakePilot) {
		w.submit(1, 1, "true")
		p := pilot()
		p.form = true
		if !p.run() || w.job(p.id()).State != "finished" || *w.attempt(p.id()).ExitCode != 0 {
			t.Errorf("%v %+v", p.job, w.job(p.id()))
		}
	})
}

func TestFails(t *testing.T) {
	each(t, func(t *testing.T, w *world, pilot func() *fakePilot) {
		w.submit(1, 2, "sh", "-c", "echo oops >&2; exit 7")
		first, second := pilot(), pilot()
		if !first.run() || !second.run() || first.id() != second.id() || second.job["attemptNr"] != 2.0 {
			t.Fatal(first.job, second.job)
		}
		j := w.job(first.id())
		if j.State != "failed" || len(j.Attempts) != 2 || *j.Attempts[1].ExitCode != 7 || j.Attempts[1].Report["pilotErrorCode"] != 1305.0 {
			t.Errorf("%+v", j)
		}
	})
}

// A kill reaches the pilot with the answer to its next update, whatever it says with it.
func TestKilled(t *testing.T) {
	each(t, func(t *testing.T, w *world, pilot func() *fakePilot) {
		for _, at := range []string{"starting", "running", "late"} {
			w.submit(1, 3, "sleep", "300")
			p := pilot()
			p.beat = 10 * time.Millisecond
			said := 0
			p.before = func(state string) {
				if said++; state == at || at == "late" && said == 5 {
					if _, err := w.dispatcher.KillJob(context.Background(), p.id()); err != nil {
						t.Error(err)
					}
					p.before = nil
				}
			}
			if !p.run() || !p.killed {
				t.Fatal(at, p.job)
			}
			j := w.job(p.id())
			a := j.Attempts[0]
			if j.State != "cancelled" || len(j.Attempts) != 1 || a.ExitCode != nil || a.Report["pilotErrorCode"] != 1144.0 || (a.StartedAt == nil) != (at == "starting") {
				t.Errorf("%s: %+v", at, j)
			}
		}
	})
}

// expire lets the lease of a job run out.
func (w *world) expire(job int64) {
	w.t.Helper()
	held, err := w.dispatcher.Holdings(w.t.Context(), []dispatcher.HeldJob{{Job: job, Attempt: w.job(job).Attempt}})
	if err != nil || held[0].Lease == "" {
		w.t.Fatal(held, err)
	}
	if _, err := w.dispatcher.Renew(w.t.Context(), dispatcher.RenewRequest{Pilot: "p", Leases: []dispatcher.Renewal{{Lease: held[0].Lease, TTL: time.Millisecond}}}); err != nil {
		w.t.Fatal(err)
	}
	w.until("the lease ends", func() bool { return w.job(job).State == "ready" })
}

// A pilot that is not heard of any more loses its lease, and the job goes to another one.
func TestLostFinal(t *testing.T) {
	each(t, func(t *testing.T, w *world, pilot func() *fakePilot) {
		w.submit(1, 2, "true")
		first, second := pilot(), pilot()
		first.mute = true
		if !first.run() {
			t.Fatal("the first pilot got no job")
		}
		w.expire(first.id())
		if !second.run() || second.id() != first.id() || second.job["attemptNr"] != 2.0 {
			t.Fatal(second.job)
		}
		if j := w.job(first.id()); j.State != "finished" || j.Attempts[0].State != "lost" || j.Attempts[1].State != "finished" {
			t.Errorf("%+v", j)
		}
	})
}

// A final update that is said twice counts once, and so does one that comes after it with another word.
func TestRepeatedFinal(t *testing.T) {
	each(t, func(t *testing.T, w *world, pilot func() *fakePilot) {
		w.submit(1, 3, "true")
		p := pilot()
		p.run()
		before := w.job(p.id())
		p.final()
		p.exit = 7
		p.final()
		if after := w.job(p.id()); after.State != "finished" || len(after.Attempts) != 1 || !after.EndedAt.Equal(*before.EndedAt) || *after.Attempts[0].ExitCode != 0 {
			t.Errorf("%+v, was %+v", after, before)
		}
		if command := p.update("running"); command != wire.Killed {
			t.Errorf("a heartbeat after the end is told %s", command)
		}
	})
}

// What a pilot says whose attempt was given to another one changes nothing there.
func TestSuperseded(t *testing.T) {
	each(t, func(t *testing.T, w *world, pilot func() *fakePilot) {
		w.submit(1, 2, "true")
		first, second := pilot(), pilot()
		first.mute = true
		if !first.run() {
			t.Fatal("the first pilot got no job")
		}
		w.expire(first.id())
		if !second.getJob() || second.id() != first.id() {
			t.Fatal(second.job)
		}
		second.update("running")
		if command := first.update("running"); command != wire.Killed {
			t.Errorf("the heartbeat of a lost lease is told %s", command)
		}
		first.exit = 7
		first.final()
		if j := w.job(first.id()); j.State != "leased" || j.Attempts[0].State != "lost" || j.Attempts[1].State != "running" {
			t.Errorf("%+v", j)
		}
		if late, _ := w.job(first.id()).Attempts[0].Report["late"].(map[string]any); late["outcome"] != "failed" || late["exit_code"] != 7.0 {
			t.Errorf("the late word is kept as %v", late)
		}
		second.final()
		if j := w.job(first.id()); j.State != "finished" || j.Attempts[1].State != "finished" {
			t.Errorf("%+v", j)
		}
	})
}

// Pilots that ask at the same moment for what there is enough of all get it.
func TestCrowd(t *testing.T) {
	n := int64(min(pgtest.Draws(500), 500))
	each(t, func(t *testing.T, w *world, pilot func() *fakePilot) {
		task := w.submit(n, 1, "true")
		w.until("all jobs are ready", func() bool {
			got, err := w.known.Task(context.Background(), task.ID)
			return err == nil && got.Jobs.Ready == n
		})
		pilots := make([]*fakePilot, n)
		for i := range pilots {
			pilots[i] = pilot()
		}
		rush(t, pilots)
	})
}
