package sim

import (
	"testing"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/lease"
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
	for _, part := range []string{"units", "claims", "later"} {
		parts[part](&p)
	}
	p.each(func(s *Site) { // one job runs for so long that limits would have all others wait past the end
		for i := range s.Shares {
			s.Shares[i].Max = 0
		}
		s.Group.Max = 0
	})
	p.Habits[0] = Habit{Request: true, Most: 1, Run: 50 * time.Second} // it is heard of in every round
	for i := range p.Deeds {
		p.Deeds[i].Host = -1
	}
	for range 30 {
		p.Deeds = append(p.Deeds, Deed{Verb: Enqueue, At: upTo(r, p.Span), Jobs: 1 + r.IntN(3), Host: -1})
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
	if sum.Stale == 0 {
		t.Error("no lease of a pilot that is gone is lost while daemons lead by turns")
	}
	if sum.Leads < 10*n || sum.Given == 0 || sum.Renewed == 0 {
		t.Errorf("nobody leads by turns: %+v", sum)
	}
}

// A leader that does not heed a wish, and one that goes on to append after its farewell, let pilots starve.
func TestBrokenTurnsAreFound(t *testing.T) {
	t.Parallel()
	for name, bend := range map[string]func(*Wiring){
		"wish-ignored": configured(func(c *lease.Config) { c.Timing.Turn = forever }),
		"names-nobody": func(w *Wiring) {
			w.Core = func(cfg lease.Config) Core {
				return &bent{Core: lease.New(cfg), effect: func(_ Core, _ time.Duration, e lease.Effect) []lease.Effect {
					if a, ok := e.(lease.Append); ok {
						for i, e := range a.Batch.Entries {
							if h, ok := e.(entry.Heard); ok {
								a.Batch.Entries[i] = entry.Heard{All: h.All}
							}
						}
					}
					return []lease.Effect{e}
				}}
			}
		},
		"appends-after-farewell": func(w *Wiring) {
			w.Core = func(cfg lease.Config) Core { return &bent{Core: lease.New(cfg), effect: goOn} }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := sound()
			bend(&w)
			for seed := range uint64(30) {
				if r := play(parted(seed), w); len(r.Wrong) > 0 {
					t.Logf("found after %d histories: %s", seed+1, first(r.Wrong[0]))
					return
				}
			}
			t.Error("not found in 30 histories")
		})
	}
}

// goOn appends a batch behind the last one of a turn.
func goOn(_ Core, _ time.Duration, e lease.Effect) []lease.Effect {
	all := []lease.Effect{e}
	a, ok := e.(lease.Append)
	if !ok {
		return all
	}
	for _, e := range a.Batch.Entries {
		if _, ok := e.(entry.Heard); ok {
			b := entry.Batch{Seq: a.Batch.Seq + 1, ID: a.Batch.ID, After: a.Batch.ID, By: a.Batch.By}
			b.ID[0]++
			all = append(all, lease.Append{Batch: b})
		}
	}
	return all
}
