package gate

import (
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
	resource.Claim `json:"claim"`
	ID             int64          `json:"id"`
	Task           int64          `json:"task,omitempty"`
	Key            string         `json:"key"`
	Payer          Payer          `json:"payer"`
	Unmade         int            `json:"unmade,omitempty"`  // jobs that share it and are still to be made
	Queue          shares.QueueID `json:"queue,omitempty"`   // at which it was bound
	Deleted        bool           `json:"deleted,omitempty"` // people made it and have deleted it
}

// SavedParty is jobs that hold the same claims.
type SavedParty struct {
	Task   int64   `json:"task"`
	Claims []int64 `json:"claims"`
	Spans  []Span  `json:"spans"` // of those that are over too
	Jobs   int64   `json:"jobs"`  // that are not over
}

// Save returns nil where there is no claim.
func (cs *Claims) Save() *Saved {
	if len(cs.by) == 0 {
		return nil
	}
	s := &Saved{}
	for _, id := range slices.Sorted(maps.Keys(cs.by)) {
		s.Claims = append(s.Claims, cs.by[id].SavedClaim)
	}
	for _, p := range slices.SortedFunc(maps.Values(cs.parties), byNumber) {
		of := p.SavedParty
		of.Spans = slices.Clone(of.Spans)
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
		c := cs.add(of)
		c.stands(cs)
		cs.taken.take(c, resource.Claim{})
		if c.State == resource.ClaimBound && c.Sharers == 0 && !c.External { // Since is zero if that was so before the first Tick
			cs.linger.Set(c.ID, c.Since.Add(c.Template.Linger))
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
		p.Jobs, p.Spans = of.Jobs, of.Spans
		for _, ids := range p.Spans {
			cs.held.add(ids.Low, ids.High, p)
		}
	}
	return nil
}
