package machine

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/gate"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/ready"
	"github.com/divvyhq/divvy/shares"
)

// simple is what a reader of package entry makes of one job.
type simple struct {
	State          string // ready, waiting or leased
	Task           int64
	User           string
	Share, Pays    shares.ShareID
	Shape          int32
	Place          int64
	Attempt        int32 // the present one, or the next
	Revoked        bool
	Killed, Idle   bool
	Reason, Before string
}

// reader looks at every job for every entry.
type reader struct {
	jobs   map[int64]*simple
	paused map[int64]bool
}

// each visits the jobs that an entry is about.
func (r *reader) each(task, low, high int64, visit func(id int64, j *simple)) {
	for id := low; id <= high; id++ {
		if j := r.jobs[id]; j != nil && j.Task == task {
			visit(id, j)
		}
	}
}

func (r *reader) read(e entry.Entry) {
	switch e := e.(type) {
	case entry.Enqueued:
		for id := e.Low; id <= e.High; id++ {
			if had := r.jobs[id]; e.Attempt > 1 && (had == nil || had.Task != e.Task || had.State != "waiting" || had.Attempt != e.Attempt) {
				continue
			}
			share, place := e.Share, e.Place
			if e.Attempt > 1 {
				share, place = r.jobs[id].Share, r.jobs[id].Place
			}
			r.jobs[id] = &simple{State: "ready", Task: e.Task, User: e.User, Share: share, Shape: e.Shape, Place: place, Attempt: e.Attempt}
		}
	case entry.Granted:
		j := r.jobs[e.Job]
		j.State, j.Pays = "leased", e.Share
	case entry.Ended:
		j := r.jobs[e.Job]
		switch e.Next {
		case entry.Again:
			j.State = "ready"
		case entry.Waits:
			j.State = "waiting"
		default:
			delete(r.jobs, e.Job)
			return
		}
		j.Pays, j.Attempt, j.Revoked, j.Reason = 0, j.Attempt+1, false, ""
	case entry.Revoked:
		j := r.jobs[e.Job]
		j.Revoked, j.Before = true, e.Reason
	case entry.Paused:
		r.paused[e.Task] = true
	case entry.Resumed:
		delete(r.paused, e.Task)
	case entry.Killed:
		r.each(e.Task, e.Low, e.High, func(id int64, j *simple) {
			switch {
			case j.State != "leased":
				delete(r.jobs, id)
			case !j.Killed || j.Idle || !e.Idle:
				j.Killed, j.Idle, j.Reason = true, e.Idle, e.Reason
			}
		})
	case entry.Closed:
		r.each(e.Task, e.Low, e.High, func(id int64, j *simple) {
			if j.State == "waiting" {
				delete(r.jobs, id)
			}
		})
	case entry.Placed:
		r.each(e.Task, e.Low, e.High, func(_ int64, j *simple) { j.Place = e.Place })
	case entry.Moved:
		r.each(e.Task, e.Low, e.High, func(_ int64, j *simple) {
			if e.From != 0 && e.From != j.Share {
				return
			}
			if j.Share, j.Place = e.Share, e.Place; e.Running && j.State == "leased" {
				j.Pays = e.Share
			}
		})
	}
}

// seen is what a machine has of all jobs, in the words of a reader.
func seen(t *rapid.T, m *Machine) map[int64]simple {
	all := map[int64]simple{}
	for state, set := range map[string]*ready.Set{"ready": m.ready, "paused": m.aside.Paused, "waiting": m.aside.Waiting} {
		for b := range set.Buffers() {
			for r := range b.Ranges() {
				user, _ := set.User(r.Task)
				if turns := m.givesTurns(b.Key().Share); state == "ready" && (turns && b.Key().User != user || !turns && b.Key().User != "") {
					t.Fatalf("jobs %d to %d of %q are in buffer %+v", r.Low, r.High, user, b.Key())
				}
				for id := r.Low; id <= r.High; id++ {
					if had, is := all[id]; is {
						t.Fatalf("job %d is %s and %s", id, had.State, state)
					}
					all[id] = simple{State: state, Task: r.Task, User: user, Share: b.Key().Share, Shape: b.Key().Shape, Place: r.Place, Attempt: r.Attempt}
				}
			}
		}
	}
	for l := range m.Leases() {
		if had, is := all[l.Job]; is {
			t.Fatalf("job %d is %s and has a lease", l.Job, had.State)
		}
		j := simple{State: "leased", Task: l.Task, User: l.User, Share: l.Home, Pays: l.Share, Shape: l.Shape, Place: l.Place, Attempt: l.Attempt, Killed: l.Killed, Idle: l.Idle}
		if l.Order != nil {
			j.Reason = l.Order.Reason
		}
		all[l.Job] = j
	}
	return all
}

// want is what a machine should have.
func (r *reader) want() map[int64]simple {
	all := map[int64]simple{}
	for id, j := range r.jobs {
		w := *j
		if w.State == "ready" && r.paused[w.Task] {
			w.State = "paused"
		}
		switch {
		case w.Killed && !w.Idle:
		case w.Revoked:
			w.Reason = w.Before
		default:
			w.Reason = ""
		}
		w.Revoked, w.Before = false, ""
		all[id] = w
	}
	return all
}

// The machine has every job where a reader has it who looks at each job for each entry, and shows so by task and share.
func TestJobsAreWhereAReaderHasThem(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		reads, told := reader{jobs: map[int64]*simple{}, paused: map[int64]bool{}}, 0
		pull := func(t *rapid.T) {
			for _, e := range w.leader.Decide(w.drawPull(t)).Entries {
				if err := w.follower.Apply(e); err != nil {
					t.Fatalf("%#v: %v", e, err)
				}
				w.log = append(w.log, e)
			}
		}
		revoke := func(t *rapid.T) {
			for l := range w.leader.Leases() {
				w.apply(t, entry.Revoked{Job: l.Job, Attempt: l.Attempt, Reason: "reclaim"})
				return
			}
		}
		actions := w.verbs(map[string]func(*rapid.T){"pull": pull, "pull again": pull, "pull more": pull, "revoke": revoke, "enqueue": w.enqueue,
			"enqueue more": w.enqueue, "end": w.end, "adopt": w.adopt, "tick": w.tick})
		actions[""] = func(t *rapid.T) {
			for ; told < len(w.log); told++ {
				reads.read(w.log[told])
			}
			want := reads.want()
			if diff := cmp.Diff(want, seen(t, w.leader)); diff != "" {
				t.Fatalf("after %d entries the machine (+) has other jobs than a reader (-):\n%s", told, diff)
			}
			counts := map[shares.ShareID]JobsView{}
			for id, j := range want {
				one := w.leader.View().Job(j.Task, id)
				if one != countOf(j.State) {
					t.Fatalf("job %d is %s, the view has %+v", id, j.State, one)
				}
				share := j.Share
				if j.State == "leased" {
					share = j.Pays
				}
				counts[share] = plus(counts[share], one)
			}
			if diff := cmp.Diff(counts, nonzero(w.leader.View().Jobs())); diff != "" {
				t.Fatalf("shares: %s", diff)
			}
			for task := range int64(20) {
				if is := w.leader.aside.Pauses(task); is != reads.paused[task] {
					t.Fatalf("task %d is paused: %v", task, is)
				}
			}
		}
		t.Repeat(actions)
	})
}

func countOf(state string) JobsView {
	return map[string]JobsView{"ready": {Ready: 1}, "paused": {Paused: 1}, "waiting": {Waiting: 1}, "leased": {Leased: 1}}[state]
}

func plus(a, b JobsView) JobsView {
	return JobsView{a.Ready + b.Ready, a.Paused + b.Paused, a.Waiting + b.Waiting, a.Leased + b.Leased}
}

func nonzero(all map[shares.ShareID]JobsView) map[shares.ShareID]JobsView {
	for share, w := range all {
		if w == (JobsView{}) {
			delete(all, share)
		}
	}
	return all
}

// A queue that fails all that it gets has one job a time, whatever pulls ask for; its follower knows when the next one is due.
func TestHolesGetOneJobATime(t *testing.T) {
	m, _ := stocked(t, siteOf(20, 1), 100, 0)
	apply := func(e entry.Entry) {
		t.Helper()
		if err := m.Apply(e); err != nil {
			t.Fatal(err)
		}
	}
	at := m.Now()
	apply(entry.Holed{Queue: 1, Is: true, ProbeS: 30})
	for _, step := range []struct {
		second, want int
		eased        bool
	}{{0, 0, false}, {29, 0, false}, {30, 1, true}, {31, 0, false}, {59, 0, false}, {60, 1, true}, {61, 0, false}} {
		eased := m.Eased()
		apply(entry.Tick{Now: at.Add(time.Duration(step.second) * time.Second)})
		if is := m.Eased() != eased; is != step.eased {
			t.Errorf("after %d s: pulls are asked again: %v, want %v", step.second, is, step.eased)
		}
		d := m.Decide(Pull{Queue: 1, Slot: job.Slot{Cores: 8}, Most: 5})
		if len(d.Entries) != step.want || step.want == 0 && d.Lacked.Gate != gate.Hole {
			t.Errorf("after %d s: %d jobs, want %d; it lacked %+v", step.second, len(d.Entries), step.want, d.Lacked)
		}
	}
	apply(entry.Holed{Queue: 1})
	if d := m.Decide(Pull{Queue: 1, Slot: job.Slot{Cores: 8}, Most: 3}); len(d.Entries) != 3 {
		t.Errorf("%d jobs of a queue that works again, want 3", len(d.Entries))
	}
}
