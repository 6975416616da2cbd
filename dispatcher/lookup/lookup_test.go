package lookup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/explain"
	"github.com/divvyhq/divvy/dispatcher/fold"
	"github.com/divvyhq/divvy/internal/pgtest"
	"github.com/divvyhq/divvy/shares"
	"github.com/divvyhq/divvy/shares/retry"
)

// things is how much happens in a drawn world: some hundred jobs.
const things = 700

// want is a job as the model has it, in a list.
func (w *world) want(id int64) JobRow {
	j := w.jobs[id]
	row := JobRow{ID: id, Task: j.Task, Share: shareOf(j.Share), State: w.shown(j), Priority: j.priority, Attempt: int(j.next), MaxAttempts: 9, Index: j.idx,
		Inputs: []string{"in"}, RetryOf: j.retryOf, CreatedAt: j.made, TryAt: j.tryAt}
	if _, over := finals[j.state]; over {
		row.EndedAt = &j.endedAt
	}
	for _, a := range j.attempts {
		row.Queue, row.Pilot = queueOf(a.Queue), a.Pilot
		if a.end != nil && a.end.Outcome == entry.Returned {
			row.MaxAttempts++
		}
	}
	return row
}

// attempt is an attempt as the model has it; the report has what the payload said of itself if whole.
func (a *modelAttempt) want(whole bool) Attempt {
	out := Attempt{Attempt: int(a.Attempt), Queue: queueOf(a.Queue), Pilot: a.Pilot, Node: a.Node, State: "granted", ClaimedAt: a.at}
	if !a.started.IsZero() {
		out.StartedAt, out.State = &a.started, "running"
	}
	if a.end == nil {
		out.Ending = a.reason
		return out
	}
	out.State, out.EndedAt, out.Message = letters[a.end.Outcome], &a.ended, a.message
	out.Usage = Usage{float64(a.end.CPUMilli) / 1000, a.end.MemoryMB}
	if code := int(a.end.ExitCode); code != 0 || a.end.Outcome == entry.Finished {
		out.ExitCode = &code
	}
	if a.message != "" {
		out.Outputs, out.Report = map[string]any{"o": 2.0}, map[string]any{"r": 1.0}
		if a.meta && whole {
			out.Report["metaData"] = map[string]any{"m": 3.0}
		}
	}
	if whole {
		out.Judged = a.judged
		if out.State != string(Finished) {
			out.Meaning = retry.Codes{}.Explain(&retry.Failure{ExitCode: out.ExitCode, Report: out.Report})
		}
	}
	return out
}

func same(t *testing.T, what string, want, got any) {
	t.Helper()
	opts := gocmp.Options{cmpopts.EquateEmpty(), gocmp.Comparer(func(a, b time.Time) bool { return a.Equal(b) })}
	if diff := gocmp.Diff(want, got, opts); diff != "" {
		t.Fatalf("%s (-want +got):\n%s", what, diff)
	}
}

// Each job stands where the log says, with the attempts that it had.
func TestJobs(t *testing.T) {
	for seed := range uint64(pgtest.Draws(8)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			w := drawn(t, seed, things)
			for state, least := range map[string]int{ready: 2, waiting: 3, leased: 5, finished: 5, failed: 5, cancelled: 5} {
				if n := len(w.where(w.in(state))); n < least {
					t.Fatalf("%d jobs are %s: the draw is worth nothing", n, state)
				}
			}
			var all, last []JobRow
			w.each(func(id int64, j *modelJob) {
				row := w.want(id)
				all = append(all, row)
				if n := len(j.attempts); n > 0 {
					row.Attempts = []Attempt{j.attempts[n-1].want(false)}
				}
				last = append(last, row)
			})
			got, err := w.JobsByID(t.Context(), append(slices.Clone(w.ids), w.ids[0], 1<<40))
			if err != nil {
				t.Fatal(err)
			}
			same(t, "jobs by id", last, got)
			w.each(func(id int64, j *modelJob) {
				want := w.want(id)
				for _, a := range j.attempts {
					want.Attempts = append(want.Attempts, a.want(true))
				}
				if n := len(want.Attempts); n > 0 && (want.State == waiting && want.TryAt != nil || want.State == failed) {
					want.Reason = want.Attempts[n-1].Judged
				}
				got, err := w.Job(t.Context(), id)
				if err != nil {
					t.Fatal(err)
				}
				same(t, fmt.Sprint("job ", id), want, got)
			})
			for state := range map[string]bool{"": true, ready: true, waiting: true, leased: true, finished: true, failed: true, cancelled: true} {
				w.checkPages(t, state, all)
			}
			w.checkEnds(t, last)
			w.checkChoices(t)
		})
	}
}

// checkPages reads lists of a state page by page, of all tasks and of each.
func (w *world) checkPages(t *testing.T, state string, all []JobRow) {
	t.Helper()
	all = slices.DeleteFunc(slices.Clone(all), func(j JobRow) bool { return state != "" && j.State != state })
	for _, limit := range []int{3, 1000} {
		var got []JobRow
		for after, n := int64(0), limit; n == limit; {
			page, err := w.Jobs(t.Context(), JobFilter{State: state, After: after, Limit: limit})
			if err != nil {
				t.Fatal(err)
			}
			if n = len(page); n > 0 {
				after = page[n-1].ID
			}
			got = append(got, page...)
		}
		same(t, "all that are "+state, all, got)
		for task := range w.tasks {
			want := slices.DeleteFunc(slices.Clone(all), func(j JobRow) bool { return j.Task != task })
			var got []JobRow
			for f := (JobFilter{Task: task, State: state, Limit: limit}); ; {
				page, next, err := w.TaskJobs(t.Context(), f)
				if err != nil || len(page) > limit || next != 0 && next <= f.After {
					t.Fatalf("%d jobs, next %d, %v", len(page), next, err)
				}
				got = append(got, page...)
				if f.After = next; next == 0 {
					break
				}
			}
			same(t, fmt.Sprintf("those of task %d that are %s", task, state), want, got)
		}
	}
}

// checkEnds asks for the jobs of each task that ended after the end of one of them, each with its last attempt.
func (w *world) checkEnds(t *testing.T, all []JobRow) {
	t.Helper()
	found := 0
	for task := range w.tasks {
		ended := slices.DeleteFunc(slices.Clone(all), func(j JobRow) bool { return j.Task != task || j.EndedAt == nil })
		if len(ended) == 0 {
			continue
		}
		since := ended[len(ended)/2].EndedAt
		for _, state := range []string{"", finished, failed, cancelled} {
			want := slices.DeleteFunc(slices.Clone(ended), func(j JobRow) bool { return !j.EndedAt.After(*since) || state != "" && j.State != state })
			got, next, err := w.TaskJobs(t.Context(), JobFilter{Task: task, State: state, EndedAfter: *since, Last: true})
			if err != nil || next != 0 {
				t.Fatalf("next %d, %v", next, err)
			}
			same(t, fmt.Sprintf("jobs of task %d that ended %s after %v", task, state, since), want, got)
			found += len(got)
		}
	}
	if found == 0 {
		t.Fatal("no job ended after another: the draw is worth nothing")
	}
}

// checkChoices looks at ids, metadata and logs of tasks.
func (w *world) checkChoices(t *testing.T) {
	t.Helper()
	for task := range w.tasks {
		of := func(states ...string) []int64 {
			return w.where(func(j *modelJob) bool { return j.Task == task && w.in(states...)(j) })
		}
		for _, c := range []struct {
			JobChoice
			want []int64
		}{
			{JobChoice{Live: true}, of(ready, waiting, leased)}, {JobChoice{Ended: []string{finished}}, of(finished)},
			{JobChoice{Ended: []string{failed, cancelled}}, of(failed, cancelled)},
			{JobChoice{Live: true, Ended: []string{finished, failed, cancelled}}, of(ready, waiting, leased, finished, failed, cancelled)},
		} {
			for _, limit := range []int{0, 4, 1000} {
				c.Task, c.Limit = task, limit
				got, err := w.JobIDs(t.Context(), c.JobChoice)
				if err != nil {
					t.Fatal(err)
				}
				same(t, fmt.Sprintf("%+v", c.JobChoice), c.want[:min(limit, len(c.want))], got)
			}
		}
		var want []JobMetadata
		for _, id := range of(finished) {
			if w.jobs[id].lastOne().meta {
				want = append(want, JobMetadata{id, []byte(`{"m": 3}`)})
			}
		}
		for after := int64(0); ; {
			page, err := w.Metadata(t.Context(), task, after, 2)
			if err != nil {
				t.Fatal(err)
			}
			n := min(2, len(want))
			same(t, "metadata", want[:n], page)
			if want = want[n:]; n == 0 {
				break
			}
			after = page[n-1].ID
		}
	}
}

// A job that is not folded yet is ready, or waits with its task; one of which nothing is kept any more is none.
func TestJobsThatNothingKnows(t *testing.T) {
	w := drawn(t, 1, 100)
	w.enqueue()
	id := w.ids[len(w.ids)-1]
	task := w.jobs[id].Task
	expect := func(state string) {
		t.Helper()
		switch j, err := w.Job(t.Context(), id); {
		case state == "" && !errors.Is(err, ErrNoJob):
			t.Errorf("%+v, %v: want no job", j, err)
		case state != "" && (err != nil || j.State != state || j.Attempt != 1):
			t.Errorf("%+v, %v: want it %s", j, err, state)
		}
	}
	expect(ready)
	w.exec("INSERT INTO paused_tasks VALUES ($1)", task)
	expect(waiting)
	w.exec("DELETE FROM paused_tasks")
	w.exec("UPDATE folded SET at = at + interval '2 hours'")
	expect("")
	if _, err := w.Job(t.Context(), 1<<40); !errors.Is(err, ErrNoJob) {
		t.Errorf("%v: want no job", err)
	}
}

// How jobs stand, and what the leader knows beside the tables of one that has a lease.
func TestStand(t *testing.T) {
	w := drawn(t, 2, things)
	asked, want := []int64{1 << 40}, map[int64]Stood{}
	var soft fold.Fence
	w.each(func(id int64, j *modelJob) {
		asked, want[id] = append(asked, id), Stood{j.Task, w.shown(j), int(j.next)}
		if n := len(j.attempts); soft.Job == 0 && n > 0 && j.attempts[n-1].end == nil {
			soft = fold.Fence{Job: id, Attempt: int32(n), Nonce: j.attempts[n-1].Nonce}
		}
	})
	w.Reader = New(Config{DB: w.pool, Soft: func(_ context.Context, leases []fold.Fence) map[fold.Fence]Soft {
		if !slices.Contains(leases, soft) {
			return nil
		}
		return map[fold.Fence]Soft{soft: {Draining, Usage{3, 4}}}
	}})
	got, err := w.Stand(t.Context(), asked)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "stand", want, got)
	w.exec(`INSERT INTO lease_reports (job_id, attempt, report) VALUES ($1, $2, '{"jobMetrics": "n", "metaData": 1}')`, soft.Job, soft.Attempt)
	one, err := w.Job(t.Context(), soft.Job)
	if err != nil {
		t.Fatal(err)
	}
	a := one.Attempts[len(one.Attempts)-1]
	if a.State != "draining" || a.Usage != (Usage{3, 4}) || a.Report["metaData"] != 1.0 {
		t.Errorf("%+v: want what the leader knows", a)
	}
	many, err := w.JobsByID(t.Context(), []int64{soft.Job})
	if err != nil {
		t.Fatal(err)
	}
	if a := many[0].Attempts[0]; a.Report["jobMetrics"] != "n" || a.Report["metaData"] != nil {
		t.Errorf("%+v: want it without metaData", a)
	}
}

// Jobs that pilots have, by whose they are, by share and by queue, page by page.
func TestLeasedJobs(t *testing.T) {
	w := drawn(t, 3, things)
	for _, f := range []JobFilter{{}, {User: "user-0"}, {User: "eve"}, {Share: "top"}, {Share: "top/b"}, {Share: "to"}, {Queue: "q"}, {User: "user-1", Share: "top/a", Queue: "r"}} {
		want := w.where(func(j *modelJob) bool {
			return j.state == leased && (f.User == "" || userOf(j.Task) == f.User) && (f.Queue == "" || queueOf(j.lastOne().Queue) == f.Queue) &&
				(f.Share == "" || f.Share == "top" || shareOf(j.Share) == f.Share)
		})
		for _, limit := range []int{2, 1000} {
			var got []int64
			for f.After, f.Limit = 0, limit; ; {
				jobs, next, err := w.LeasedJobs(t.Context(), f)
				if err != nil {
					t.Fatal(err)
				}
				for _, j := range jobs {
					got = append(got, j.ID)
					want := w.want(j.ID)
					same(t, "leased", want, j)
				}
				if f.After = next; next == 0 {
					break
				}
			}
			same(t, fmt.Sprintf("%+v", f), want, got)
		}
	}
	held := w.where(w.in(leased))
	for most, want := range map[int]int64{2: held[1], len(held): held[len(held)-1], len(held) + 1: 0} {
		if ids, next, err := w.leasedIDs(t.Context(), JobFilter{User: "eve"}, 5, most); err != nil || len(ids) != 0 || next != want {
			t.Errorf("of %d leases: %v, next %d, %v; want %d", most, ids, next, err, want)
		}
	}
}

// The log of an attempt has what its payload brought and what its pilot said.
func TestJobLog(t *testing.T) {
	w := drawn(t, 4, things)
	n := 0
	w.each(func(id int64, j *modelJob) {
		ended := slices.DeleteFunc(slices.Clone(j.attempts), func(a *modelAttempt) bool { return a.end == nil })
		if n++; n%2 == 0 && len(ended) > 0 {
			w.exec("INSERT INTO payload_logs (at, job_id, attempt, log) VALUES ($1, $2, $3, 'own'), ($1::timestamptz + interval '1 s', $2, $3, 'again')",
				ended[0].ended, id, ended[0].Attempt)
		}
		for i := range len(ended) + 1 {
			attempt, a := i, (*modelAttempt)(nil)
			if i > 0 {
				a = ended[i-1]
				attempt = int(a.Attempt)
			} else if len(ended) > 0 {
				a = ended[len(ended)-1]
			}
			got, err := w.JobLog(t.Context(), id, attempt)
			if a == nil {
				if !errors.Is(err, ErrNoAttempt) {
					t.Errorf("job %d: %q, %v; want no attempt", id, got, err)
				}
				continue
			}
			want := a.log
			if n%2 == 0 && a == ended[0] {
				want = "own" + map[bool]string{true: "\n--- pilot\n" + a.log}[a.log != ""]
			}
			if err != nil || got != want {
				t.Errorf("job %d attempt %d: %q, %v; want %q", id, attempt, got, err, want)
			}
		}
	})
	if _, err := w.JobLog(t.Context(), 1<<40, 0); !errors.Is(err, ErrNoJob) {
		t.Errorf("%v: want no job", err)
	}
}

// Ended jobs of the last hours, by what they were and where they ran.
func TestEnded(t *testing.T) {
	w := drawn(t, 5, things)
	within := time.Since(w.now) + 3*time.Hour
	type key struct {
		share shares.ShareID
		shape int32
		queue shares.QueueID
		state string
	}
	n := map[key]int64{}
	since := time.Now().Add(-time.Duration(int(within.Minutes())) * time.Minute).Add(-time.Hour)
	w.each(func(_ int64, j *modelJob) {
		if _, over := finals[j.state]; !over {
			return
		}
		k := key{j.block, j.Shape, 0, j.state}
		at := j.endedAt
		if len(j.attempts) > 0 {
			switch last := j.lastOne(); {
			case last.ended.Equal(j.endedAt) && last.end.Next.Final():
				k.share, k.queue, at = last.Share, last.Queue, at.Truncate(time.Hour)
			case j.state == failed && last.ended.After(at.Add(-24*time.Hour)): // a rule gave it up
				k.share, k.shape, k.queue = last.Share, last.Shape, last.Queue
			}
		}
		if at.After(since) {
			n[k]++
		}
	})
	var want []explain.Count
	for k, n := range n {
		c := explain.Count{Share: shareOf(k.share), Class: "SCORE", Label: "l", State: k.state, N: n}
		if k.shape > 1 {
			c.Class = "MCORE"
		}
		if k.queue > 0 {
			c.Queues, c.Pools = []string{queueOf(k.queue)}, []string{"default"}
		}
		want = append(want, c)
	}
	got, err := w.Ended(t.Context(), within)
	if err != nil {
		t.Fatal(err)
	}
	order := func(a, b explain.Count) int { return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)) }
	slices.SortFunc(want, order)
	slices.SortFunc(got, order)
	same(t, "ended", want, got)
}

// A ready job that no queue can run says why.
func TestUnrunnable(t *testing.T) {
	w := drawn(t, 6, 300)
	site := &shares.Version{Queues: []shares.Queue{{ID: 1, Name: "q", AllowShares: []string{"top/a"}, State: shares.Online}}}
	w.Reader = New(Config{DB: w.pool, Site: func() *shares.Version { return site }})
	n := 0
	for _, id := range w.where(w.in(ready, leased)) {
		j, err := w.Job(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if stuck := j.State == ready && j.Share == "top/b"; stuck != (j.Reason != "") {
			t.Errorf("job %d, %s, of %s: reason %q", id, j.State, j.Share, j.Reason)
		} else if stuck {
			n++
		}
	}
	if n == 0 {
		t.Error("no job was so")
	}
}
