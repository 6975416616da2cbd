package dispatcher

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"
	"pgregory.net/rapid"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/shares"
	"github.com/divvyhq/divvy/shares/retry"
)

// sequence is a site with one daemon, of which one thing after the other is asked.
type sequence struct {
	*drawn
	d *Dispatcher
}

var sequenceSteps = map[string]func(*sequence){
	"enqueue": func(s *sequence) {
		s.oracle.enqueue(s.enqueued()...)
		s.refresh(s.d)
	},
	"pull":      func(s *sequence) { s.ask(s.drawPull()) },
	"small one": func(s *sequence) { s.ask(oraclePull{queue: 0, slot: job.Slot{Cores: 1}, max: 1}) },
	"end": func(s *sequence) {
		if len(s.leases) == 0 {
			return
		}
		job := rapid.SampledFrom(slices.Sorted(maps.Keys(s.leases))).Draw(s.r, "job")
		outcome := rapid.SampledFrom([]Outcome{Finished, Finished, Failed, Cancelled}).Draw(s.r, "outcome")
		v := finish(s.t, s.d, outcome, Lease{Lease: s.leases[job]})
		delete(s.leases, job)
		if want := s.oracle.end(job, outcome); v[0].Verdict != Recorded || v[0].JobState != want {
			s.t.Fatalf("%s: %+v, want %s", outcome, v[0], want)
		}
	},
	"kill": func(s *sequence) {
		if len(s.oracle.jobs) == 0 {
			return
		}
		job := rapid.SampledFrom(s.oracle.jobs).Draw(s.r, "job").id
		if err := s.d.KillJob(context.Background(), job); err != nil && !errors.Is(err, ErrNoJob) {
			s.t.Fatal(err)
		}
		s.oracle.kill(job)
		s.refresh(s.d)
	},
	"judge": func(s *sequence) {
		judge(s.t, s.d)
		s.oracle.judge()
		s.refresh(s.d)
	},
	"hold": func(s *sequence) {
		s.shift(func(tx pgx.Tx, task int64) error {
			_, err := HoldTasks(context.Background(), tx, along(task, 100))
			s.oracle.shift(task, isReady, isWaiting)
			return err
		})
	},
	"release": func(s *sequence) {
		s.shift(func(tx pgx.Tx, task int64) error {
			_, err := ReleaseTasks(context.Background(), tx, along(task, 100))
			s.oracle.shift(task, isWaiting, isReady)
			return err
		})
	},
}

// ask makes a pull and holds its answer against the oracle's.
func (s *sequence) ask(p oraclePull) {
	if s.oracle.units.pulled != nil {
		s.oracle.units.pulled[p.queue] = true
	}
	before := s.oracle.clone()
	leases := s.pull(s.d, p, 0)
	for _, l := range leases {
		s.leases[l.Job] = l.Lease
		if j := before.job(l.Job); j == nil || l.Attempt != j.attempt {
			s.t.Fatalf("lease %+v, the job is %+v", l, j)
		}
	}
	if err := s.oracle.answer(p, jobsOf(leases)); err != nil {
		s.t.Fatalf("pull %+v: %v\njobs before: %+v\nlast grants: %v", p, err, before.jobs, before.last)
	}
}

func (s *sequence) shift(do func(tx pgx.Tx, task int64) error) {
	if len(s.tasks) == 0 {
		return
	}
	task := rapid.SampledFrom(s.tasks).Draw(s.r, "task")
	s.tx(func(tx pgx.Tx) error { return do(tx, task) })
	s.refresh(s.d)
}

func (s *sequence) run(steps ...string) {
	s.d = s.daemon()
	for range rapid.IntRange(10, 50).Draw(s.r, "steps") {
		sequenceSteps[rapid.SampledFrom(steps).Draw(s.r, "step")](s)
	}
	s.recount()
}

// One daemon, one thing at a time: every answer is the oracle's, whatever happened before.
func TestOracleSequence(t *testing.T) {
	onDatabases(t, 8, func(t testing.TB, r *rapid.T) {
		s := &sequence{drawn: drawSite(t, r, siteKind{})}
		s.run("enqueue", "enqueue", "pull", "pull", "pull", "pull", "end", "end", "kill", "hold", "release")
	})
}

// The same where failed attempts are judged before their jobs are ready again.
func TestOracleJudged(t *testing.T) {
	onDatabases(t, 8, func(t testing.TB, r *rapid.T) {
		s := &sequence{drawn: drawSite(t, r, siteKind{})}
		s.oracle.judges = true
		s.apply(func(v *shares.Version) {
			v.Attempts = rules(retry.Rule{Name: "r", Match: retry.Match{Outcome: retry.Failed}, Action: retry.Limit, Times: 1000})
		})
		s.run("enqueue", "enqueue", "pull", "pull", "pull", "pull", "end", "end", "judge", "kill", "hold", "release")
	})
}

// Where no grant is ever put back, ties between shares too go to who waited longest.
func TestOracleTies(t *testing.T) {
	onDatabases(t, 8, func(t testing.TB, r *rapid.T) {
		s := &sequence{drawn: drawSite(t, r, siteKind{plain: true})}
		s.run("enqueue", "small one", "small one", "small one", "end", "end")
	})
}
