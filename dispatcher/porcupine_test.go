package dispatcher

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"pgregory.net/rapid"
)

// deed is something that was asked of a daemon, with its answer.
type deed struct {
	client     int
	from, to   int64
	pull       *oraclePull // and what it got
	got        []int64
	enqueued   []oracleJob
	job        int64 // that ended
	outcome    Outcome
	stateAfter string
}

func (d deed) String() string {
	at := fmt.Sprintf("%7.2f … %7.2f ms, client %d: ", float64(d.from)/1e6, float64(d.to)/1e6, d.client)
	switch {
	case d.pull != nil:
		return at + fmt.Sprintf("pull %+v: %v", *d.pull, d.got)
	case d.enqueued != nil:
		return at + fmt.Sprintf("enqueue %+v", d.enqueued)
	}
	return at + fmt.Sprintf("job %d %s, now %s", d.job, d.outcome, d.stateAfter)
}

// step is the oracle after the deed; false when it would not have answered so.
func (d deed) step(before *oracle) (bool, *oracle) {
	o := before.clone()
	switch {
	case d.pull != nil:
		return o.answer(*d.pull, d.got) == nil, o
	case d.enqueued != nil:
		o.enqueue(d.enqueued...)
		return true, o
	}
	if j := o.job(d.job); j == nil || j.state != isLeased {
		return false, o
	}
	return o.end(d.job, d.outcome) == d.stateAfter, o
}

// oracleModel is the oracle as a sequential specification.
func oracleModel(start *oracle) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return start },
		Step: func(state, input, _ any) (bool, any) {
			ok, after := input.(deed).step(state.(*oracle))
			return ok, after
		},
		Equal:             func(a, b any) bool { return a.(*oracle).equal(b.(*oracle)) },
		DescribeOperation: func(input, _ any) string { return input.(deed).String() },
	}
}

// linearizable says whether there is an order of the deeds in which the oracle answers each of them the same, and
// in which none comes before one that was over when it began.
func linearizable(start *oracle, history []deed) porcupine.CheckResult {
	ops := make([]porcupine.Operation, len(history))
	for i, d := range history {
		ops[i] = porcupine.Operation{ClientId: d.client, Input: d, Call: d.from, Return: d.to}
	}
	return porcupine.CheckOperationsTimeout(oracleModel(start), ops, 30*time.Second)
}

// plan is what a client will ask: drawn beforehand, since drawing is for one goroutine.
type plan struct {
	verb    string
	pull    oraclePull
	wait    float64
	jobs    batch
	like    oracleJob
	which   int // of the leases that it holds by then
	outcome Outcome
}

func (s *drawn) drawPlan() plan {
	p := plan{verb: rapid.SampledFrom([]string{"pull", "pull", "pull", "end", "end", "enqueue"}).Draw(s.r, "verb")}
	switch p.verb {
	case "pull":
		p.pull = s.drawPull()
		p.wait = rapid.SampledFrom([]float64{0, 0, 0.01, 0.05}).Draw(s.r, "wait")
	case "end":
		p.which = rapid.IntRange(0, 9).Draw(s.r, "which")
		p.outcome = rapid.SampledFrom([]Outcome{Finished, Finished, Failed}).Draw(s.r, "outcome")
	default:
		p.jobs, p.like = s.drawJobs()
	}
	return p
}

// client does one plan after the other and notes what came of each.
func (s *drawn) client(d *Dispatcher, no int, plans []plan, since time.Time) (done []deed) {
	var leases []Lease
	for _, p := range plans {
		e := deed{client: no, from: time.Since(since).Nanoseconds()}
		switch p.verb {
		case "pull":
			got := s.pull(d, p.pull, p.wait)
			leases = append(leases, got...)
			e.pull, e.got = &p.pull, jobsOf(got)
		case "end":
			if len(leases) == 0 {
				continue
			}
			i := p.which % len(leases)
			e.job, e.outcome = leases[i].Job, p.outcome
			e.stateAfter = finish(s.t, d, p.outcome, leases[i])[0].JobState
			leases = slices.Delete(leases, i, i+1)
		default:
			for _, id := range s.enqueue(p.jobs) {
				p.like.id = id
				e.enqueued = append(e.enqueued, p.like)
			}
			s.refresh(d) // from then on at the latest it is known
		}
		e.to = time.Since(since).Nanoseconds()
		done = append(done, e)
	}
	return done
}

// Several pilots at one daemon at the same time: pulls, ends and new jobs are as if one came after the other, each
// at some moment of its call, and "no job" is said only if at some moment of the call no job fitted.
func TestOracleConcurrentPulls(t *testing.T) {
	onDatabases(t, 12, func(t testing.TB, r *rapid.T) {
		s := drawSite(t, r, siteKind{})
		d := s.daemon()
		for range rapid.IntRange(0, 4).Draw(r, "batches") {
			s.oracle.enqueue(s.enqueued()...)
		}
		s.refresh(d)
		plans := make([][]plan, rapid.IntRange(4, 8).Draw(r, "clients"))
		for i := range plans {
			for range rapid.IntRange(2, 6).Draw(r, "deeds") {
				plans[i] = append(plans[i], s.drawPlan())
			}
		}
		var all sync.WaitGroup
		deeds := make([][]deed, len(plans))
		start := time.Now()
		for i := range plans {
			all.Go(func() { deeds[i] = s.client(d, i, plans[i], start) })
		}
		all.Wait()
		history := slices.Concat(deeds...)
		if verdict := linearizable(s.oracle, history); verdict != porcupine.Ok {
			slices.SortFunc(history, func(a, b deed) int { return cmp.Compare(a.from, b.from) })
			var told strings.Builder // in the message: rapid shows no more of a failure that does not come again
			for _, d := range history {
				fmt.Fprintln(&told, d)
			}
			t.Errorf("not linearizable: %s\njobs before: %+v\n%s", verdict, s.oracle.jobs, &told)
		}
		s.recount()
	})
}
