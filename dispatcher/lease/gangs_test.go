package lease

import (
	"testing"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/shares"
)

// gangStage leads over a queue where a gang of two jobs of a core waits.
func gangStage(t *testing.T) *stage {
	s := newStage(t, 10, 0, nil)
	s.log.Write(entry.Claimed{Claim: 1, Task: 1, Key: "gang", Jobs: 2, Template: shares.ClaimTemplate{Name: "gang", Node: true, Gang: true}},
		entry.Joined{Task: 1, Low: 1, High: 2, Claims: []int64{1}},
		entry.Enqueued{Task: 1, Share: 1, Shape: 1, Low: 1, High: 2, Attempt: 1, User: "u"})
	s.step(Written{})
	s.settle()
	return s
}

func nodePull(node string, wait time.Duration) Ask {
	a := pullAsk(wait)
	a.Pull.Node = node
	return a
}

// Two pulls of a node, of one class, get the jobs of a gang together, and one alone waits for another.
func TestGangStartsInPullsOfANode(t *testing.T) {
	t.Parallel()
	s := gangStage(t)
	elsewhere := s.ask(nodePull("n2", 10*time.Second))
	first := s.ask(nodePull("n1", 10*time.Second))
	s.settle()
	for _, call := range []uint64{elsewhere, first} {
		if a, ok := s.answers[call]; ok {
			t.Errorf("%+v: a half of a gang is given", a)
		}
	}
	second := s.ask(nodePull("n1", 10*time.Second))
	s.settle()
	for i, call := range []uint64{first, second} {
		if a := s.answered(call, Done); len(a.Leases) != 1 {
			t.Errorf("pull %d: %+v", i, a)
		}
	}
	s.now += 11 * time.Second
	s.step()
	s.settle()
	s.answered(elsewhere, NoJob)
	if n := len(s.node.lead.line.nodes) + len(s.node.lead.line.later); n > 1 {
		t.Errorf("%d nodes and retries are left", n)
	}
}

// A gang that gets smaller starts in the slots that wait already.
func TestGangGetsSmaller(t *testing.T) {
	t.Parallel()
	s := newStage(t, 10, 0, nil)
	s.log.Write(entry.Claimed{Claim: 1, Task: 1, Key: "gang", Jobs: 3, Template: shares.ClaimTemplate{Name: "gang", Node: true, Gang: true}},
		entry.Joined{Task: 1, Low: 1, High: 2, Claims: []int64{1}},
		entry.Enqueued{Task: 1, Share: 1, Shape: 1, Low: 1, High: 2, Attempt: 1, User: "u"})
	s.step(Written{})
	s.settle()
	calls := []uint64{s.ask(nodePull("n1", 10*time.Minute)), s.ask(nodePull("n1", 10*time.Minute))}
	s.settle()
	if len(s.answers) > 0 {
		t.Fatalf("%+v: a job of the gang is not made yet", s.answers)
	}
	s.log.Write(entry.Dropped{Claim: 1, Unmade: 1})
	s.step(Written{})
	s.settle()
	for _, call := range calls {
		s.answered(call, Done)
	}
}

// When slots are not held for a gang any more, what waits there has other jobs.
func TestGangLetsGo(t *testing.T) {
	t.Parallel()
	s := gangStage(t)
	s.log.Write(jobsOf(2, 11, 12))
	s.step(Written{})
	s.settle()
	first := s.ask(nodePull("n1", 0)) // the node is not known to have two slots
	s.settle()
	if a := s.answered(first, Done); a.Leases[0].Job != 11 {
		t.Fatalf("%+v", a)
	}
	waits := s.ask(nodePull("n1", 3*time.Minute))
	s.settle()
	if a, ok := s.answers[waits]; ok {
		t.Fatalf("%+v: the gang comes first", a)
	}
	for range 100 {
		s.now += time.Second
		s.step()
		s.settle()
	}
	if a := s.answered(waits, Done); len(a.Leases) != 1 || a.Leases[0].Job != 12 {
		t.Errorf("%+v", a)
	}
}

// The log says at which queues pilots pull, and ticks what they offer and did not get.
func TestSupply(t *testing.T) {
	t.Parallel()
	polled := map[shares.QueueID]bool{}
	s := newStage(t, 10, 3, func(c *Config) {
		c.Queue = func(id shares.QueueID) (shares.Queue, bool) {
			return shares.Queue{ID: id, Pool: "p", CorePowerMilli: 1000, Cores: 8}, id == 1
		}
		c.Polled = func(Machine) (list []shares.QueueID) {
			for q := range polled {
				list = append(list, q)
			}
			return list
		}
	})
	four := pullAsk(0)
	four.Pull.Slot.Cores, four.Pull.Pilot = 4, "q"
	s.ask(four)
	s.settle()
	s.ask(four)
	s.ask(pullAsk(0))
	unknown := pullAsk(0)
	unknown.Pull.Queue = 7
	s.ask(unknown)
	s.settle()
	for range 2 { // a tick is the time of the batch before
		s.now += time.Second
		s.step()
		s.settle()
	}
	last := func() (offered shares.Units, polls []entry.Polled) {
		batches, err := s.log.Read(t.Context(), 0, 1000)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range batches {
			for _, e := range b.Entries {
				switch e := e.(type) {
				case entry.Tick:
					if offered = 0; len(e.Offered) == 1 && e.Offered[0].Pool == "p" {
						offered = e.Offered[0].Units
					}
				case entry.Polled:
					polls = append(polls, e)
				}
			}
		}
		return offered, polls
	}
	if offered, polls := last(); offered != 3000 || len(polls) != 1 || polls[0] != (entry.Polled{Queue: 1, Is: true}) {
		t.Errorf("%d units are offered, want 4000 less one job; %v", offered, polls)
	}
	for range 310 {
		s.now += time.Second
		s.step()
		s.settle()
	}
	if offered, polls := last(); offered != 0 || len(polls) != 2 || polls[1].Is {
		t.Errorf("long after: %d units, %v", offered, polls)
	}
	if l := s.node.lead.supply; len(l.pilots)+len(l.pools)+len(l.polled) > 0 {
		t.Errorf("%+v is left", l)
	}
}
