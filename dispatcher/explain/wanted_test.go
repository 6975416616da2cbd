package explain

import (
	"reflect"
	"testing"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/wanted"
	"github.com/divvyhq/divvy/shares"
	"github.com/divvyhq/divvy/shares/pilots"
)

// wanting is a moment with the wanted pilots of a queue that has a provision.
func (p *plant) wanting(queue int) Moment {
	m := p.moment()
	need := wanted.Solve(m.WantedInput())[queue]
	answer, _ := need.Answer(p.site.Queues[queue].Provision, wanted.Level{}, m.At)
	m.Wanted = map[shares.QueueID]wanted.Pilots{p.site.Queues[queue].ID: answer}
	return m
}

func TestQueueWanted(t *testing.T) {
	q := slots("batch", 800)
	provision := pilots.Provision{Max: 64, Slots: 8}.Filled()
	q.Provision = &provision
	capped := node("Capped", 1)
	capped.Plan.Max = shares.Of(16_000)
	p := newPlant(t, []shares.Spec{node("A", 1), capped}, q, slots("other", 8))
	p.enqueue(batch{share: "A", n: 100})
	p.enqueue(batch{share: "Capped", n: 100, need: job.Requirements{Queues: []string{"batch"}}})
	for range 8 {
		p.pull("batch")
	}
	m := p.wanting(0)
	got, ok := m.QueueWanted(p.site.Queues[0])
	if want := []WantedFor{{"A", 96}, {"Capped", 96}}; !ok || !reflect.DeepEqual(got.For, want) {
		t.Errorf("for %v, expected %v", got.For, want)
	}
	// Capped may hold 16 units in all, A has 100 jobs: with the 8 that run that is 116 jobs.
	if got.Wanted != 15 || got.Jobs != 108 {
		t.Errorf("%+v", got.Pilots)
	}
	if queues := m.Queues(); queues[0].Wanted == nil || queues[0].Wanted.Wanted != 15 || queues[1].Wanted != nil {
		t.Errorf("%+v", queues)
	}
	if stock := m.ShareStock("Capped", ""); stock[0].Sets[0].Pilots != 1 || stock[0].Sets[0].ToStart != 14 {
		t.Errorf("%+v", stock)
	}
	if _, ok := m.QueueWanted(p.site.Queues[1]); ok {
		t.Error("a queue without a provision wants pilots")
	}
}

// BenchmarkWanted is what an answer costs, for all queues at once: 1,000 queues of 1,000 shares, 20,000 running jobs, 100 pilots that wait
// at each.
func BenchmarkWanted(b *testing.B) {
	p := large(b, 1000, 1000)
	p.adopt(func(v *shares.Version) {
		for i := range v.Queues {
			provision := pilots.Provision{Max: 1000, Slots: 8}.Filled()
			v.Queues[i].Provision = &provision
		}
	})
	m := p.moment()
	at := m.Pulls.(pulls)
	for _, q := range p.site.Queues {
		at.waiting[q.ID] = 100
	}
	b.ReportAllocs()
	for b.Loop() {
		total := 0
		for i, need := range wanted.Solve(m.WantedInput()) {
			answer, _ := need.Answer(p.site.Queues[i].Provision, wanted.Level{}, m.At)
			total += answer.Wanted
		}
		if total == 0 {
			b.Fatal("no pilot is wanted for 400,000 jobs")
		}
	}
}
