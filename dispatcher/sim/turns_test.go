package sim

import (
	"testing"
	"time"

	"github.com/divvyhq/divvy/internal/pgtest"
)

// parted is a plan whose daemons are in groups that reach the log and not each other. Nothing else goes wrong.
func parted(seed uint64) Plan {
	p := Draw(seed)
	r := stream(seed, 4)
	p.Groups = 2 + r.IntN(2)
	p.Daemons = p.Groups + r.IntN(2)
	p.Span = 60*time.Second + upTo(r, 30*time.Second)
	p.TTL = 12 * time.Second
	p.Faults, p.Loss, p.Slots = nil, 0, [2]int{}
	for i := range p.Deeds {
		p.Deeds[i].Host = -1
	}
	for range 30 {
		p.Deeds = append(p.Deeds, Deed{Enqueue, upTo(r, p.Span), 1 + r.IntN(3), -1})
	}
	for len(p.Habits) < p.Daemons {
		p.Habits = append(p.Habits, drawHabit(r, p.Span))
	}
	return p
}

// Pilots of daemons that do not reach the leader are served all the same, and lose no lease.
func TestDaemonsLeadByTurns(t *testing.T) {
	t.Parallel()
	var sum Seen
	n := pgtest.Draws(120)
	for seed := range uint64(n) {
		p := parted(seed)
		r := play(p, sound())
		if len(r.Wrong) > 0 {
			t.Fatal(failure(p, sound(), r))
		}
		sum.add(r.Seen)
	}
	t.Logf("%d histories: %+v", n, sum)
	if sum.Leads < 10*n || sum.Given == 0 || sum.Renewed == 0 {
		t.Errorf("nobody leads by turns: %+v", sum)
	}
}
