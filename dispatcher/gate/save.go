package gate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/divvyhq/divvy/dispatcher/resource"
	"github.com/divvyhq/divvy/shares"
)

// Saved are all claims and who holds them, for a checkpoint.
type Saved struct {
	Claims  []SavedClaim `json:"claims,omitempty"`
	Parties []SavedParty `json:"parties,omitempty"`
}

// SavedClaim is a claim.
type SavedClaim struct {
	Claim   resource.Claim `json:"claim"`
	ID      int64          `json:"id"`
	Task    int64          `json:"task,omitempty"`
	Key     string         `json:"key"`
	Payer   Payer          `json:"payer"`
	Unmade  int            `json:"unmade,omitempty"`
	Queue   shares.QueueID `json:"queue,omitempty"`
	Deleted bool           `json:"deleted,omitempty"`
}

// SavedParty is jobs that hold the same claims.
type SavedParty struct {
	Task   int64   `json:"task"`
	Claims []int64 `json:"claims"`
	Spans  []Span  `json:"spans"`
	Jobs   int64   `json:"jobs"`
}

// Save returns nil where there is no claim.
func (cs *Claims) Save() *Saved {
	if len(cs.by) == 0 {
		return nil
	}
	s := &Saved{}
	for _, id := range slices.Sorted(maps.Keys(cs.by)) {
		c := cs.by[id]
		s.Claims = append(s.Claims, SavedClaim{c.Claim, id, c.task, c.key, c.payer, c.unmade, c.queue, c.deleted})
	}
	for _, p := range slices.SortedFunc(maps.Values(cs.parties), func(a, b *Party) int { return cmp.Compare(a.number, b.number) }) {
		of := SavedParty{Task: p.Task, Spans: slices.Clone(p.spans), Jobs: p.jobs}
		for _, c := range p.claims {
			of.Claims = append(of.Claims, c.id)
		}
		s.Parties = append(s.Parties, of)
	}
	return s
}

// Restore fills claims that have none yet, as of a moment. Which jobs are ready is for the machine to say.
func (cs *Claims) Restore(s *Saved, now time.Time) error {
	cs.now = now
	if s == nil {
		return nil
	}
	for _, of := range s.Claims {
		c := &claim{Claim: of.Claim, id: of.ID, task: of.Task, key: of.Key, payer: of.Payer, unmade: of.Unmade, queue: of.Queue, deleted: of.Deleted,
			parties: map[*Party]struct{}{}}
		cs.by[c.id] = c
		cs.costs.expect(c, 1)
		cs.taken.take(c, resource.Claim{})
		cs.lack(c)
		if c.State == resource.ClaimBound && c.Sharers == 0 && !c.External { // Since is zero if that was so before the first Tick
			cs.linger.look(c.id, c.Since.Add(c.Template.Linger))
		}
	}
	for _, of := range s.Parties {
		all := make([]*claim, len(of.Claims))
		for i, id := range of.Claims {
			if all[i] = cs.by[id]; all[i] == nil {
				return fmt.Errorf("jobs of task %d hold claim %d, which is not there", of.Task, id)
			}
		}
		p := cs.party(of.Task, all)
		p.jobs, p.spans = of.Jobs, of.Spans
		for _, ids := range p.spans {
			cs.held.add(ids.Low, ids.High, p)
		}
	}
	return nil
}
