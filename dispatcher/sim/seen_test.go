package sim

import (
	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/lease"
)

// Seen counts what happened, so that tests can see that a simulation is worth something.
type Seen struct {
	Leads, Reloads, None, Given, Over, Unavailable, Renewed, Ended, Lost, Stale int
	Hasty                                                                       int // answers with leases to pulls that were said again meanwhile
	Aside, Waited, Closed, Dropped                                              int // jobs of paused tasks, that waited and were tried again, or not; claims that got fewer jobs
	Units, Bound, Gangs, Moved, Adopted, Turns                                  int // grants with units, claims that were bound, gangs, jobs that moved, versions, choices between shares
	Reports, Limiting, Expired                                                  int // reports of the units' owner, grants while one left fewer units than the site has, reports that were too old
	Lent, Reclaimed, JudgedReclaims, Returned, Owed                             int // grants under limits of lending, orders, those that were judged, attempts that ended for them, grants of who comes first
	Placed                                                                      int // grants of who comes first in its share
	Register                                                                    int // operations for porcupine
	History                                                                     []Op
}

// Op is an operation on the lease of a job, as pilots and the log saw it.
type Op struct {
	Job              int64
	Client           string
	Called, Returned int64  // nanoseconds
	Verb             string // grant, told, renew, end
	Attempt          int32
	Outcome          byte // of an end
	Is               bool // granted, kept, recorded
}

// settle writes the history of leases for whoever judges it by itself. After a failover there is none: what was lost was once true.
func (t *truth) settle(seen *Seen) {
	if t.tables.lost > 0 {
		return
	}
	add := func(h happening, verb string) {
		seen.History = append(seen.History, Op{h.key.Job, h.pilot, int64(h.called), int64(h.at), verb, h.key.Attempt, byte(h.outcome), h.is})
	}
	for _, h := range t.history {
		switch h.what {
		case wasTold:
			add(h, "told")
		case wasRenewed:
			add(h, "renew")
		case wasEnded:
			add(h, "end")
		}
	}
	for _, b := range t.batches {
		for _, e := range b.Entries {
			g, ok := e.(entry.Granted)
			if !ok {
				continue
			}
			k := lease.Key{Job: g.Job, Attempt: g.Attempt, Nonce: g.Nonce}
			l := t.leases[k]
			add(happening{told{"log", l.began, l.began}, k, wasTold, 0, true}, "grant")
			if l.ended == nil {
				continue
			}
			h := happening{told{"log", l.endAt, l.endAt}, k, wasEnded, l.ended.Outcome, true}
			if said, ok := t.attempted[k]; ok && l.ended.Outcome != entry.Lost {
				h.called = min(said, h.called)
			}
			add(h, "end")
		}
	}
	seen.Register = len(seen.History)
}
