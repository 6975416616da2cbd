package gate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/resource"
)

// Sort is what claims ask of a slot as they stand: all parties of which they ask the same have the same Sort.
type Sort struct {
	Need    job.ClaimNeed // Gang is 1 for jobs that start with all of their gang only, else 0
	Payer   Payer         // of the units in Need.Resources
	text    string
	limits  []*claim // that are bound and may be full
	parties int
}

// Asks says whether claims ask anything of a slot; if not, their jobs are like others. The zero sort asks nothing.
func (s *Sort) Asks() bool { return s.text != "" }

// Limited says whether the sort is full at times.
func (s *Sort) Limited() bool { return len(s.limits) > 0 }

// Full says whether one of its claims has as many sharers as it may have.
func (s *Sort) Full() bool { return slices.ContainsFunc(s.limits, (*claim).full) }

// Waits says whether no slot can run its jobs, whatever it offers.
func (s *Sort) Waits() bool { return (s.Need.Missing || s.Need.Apart) }

// Text tells sorts apart.
func (s *Sort) Text() string { return s.text }

// full says whether a claim has as many sharers as it may have.
func (c *claim) full() bool {
	most := c.Template.MaxSharers
	return most > 0 && c.State == resource.ClaimBound && c.Sharers >= most
}

// sortOf finds or makes the sort of a party and counts it in.
func (cs *Claims) sortOf(p *Party) *Sort {
	s := Sort{}
	all := make([]resource.Claim, len(p.claims))
	for i, c := range p.claims {
		all[i] = c.Claim
		switch {
		case c.State == resource.ClaimReleased:
			s.Need.Missing = true
		case c.State == resource.ClaimBound && c.Template.MaxSharers > 0:
			s.limits = append(s.limits, c)
		case c.State == resource.ClaimPending && len(c.Template.Resources) > 0:
			s.Payer = c.Payer
		}
	}
	gone := s.Need.Missing
	s.Need = *job.NeedOf(all)
	s.Need.Missing = s.Need.Missing || gone
	s.Need.Gang = min(s.Need.Gang, 1)
	if s.Waits() { // whatever else they ask for
		s = Sort{Need: job.ClaimNeed{Missing: s.Need.Missing, Apart: s.Need.Apart}}
	}
	s.text = s.write()
	had := cs.sorts[s.text]
	if had == nil {
		had = &s
		cs.sorts[s.text] = had
		for _, c := range s.limits {
			if c.sorts == nil {
				c.sorts = map[*Sort]struct{}{}
			}
			c.sorts[had] = struct{}{}
		}
	}
	had.parties++
	return had
}

// write is the sort in one way to write it; empty: it asks for nothing.
func (s *Sort) write() string {
	n := &s.Need
	var b strings.Builder
	for word, is := range map[string]bool{"missing": n.Missing, "apart": n.Apart} {
		if is {
			b.WriteString(word) // alone: the order does not matter
		}
	}
	if n.Bound() {
		fmt.Fprintf(&b, "at %q %q ", n.Queue, n.Node)
	}
	if n.OnNode {
		b.WriteString("node ")
	}
	if n.Gang > 0 {
		b.WriteString("gang ")
	}
	for _, kind := range slices.Sorted(maps.Keys(n.Devices)) {
		fmt.Fprintf(&b, "device %q %d ", kind, n.Devices[kind])
	}
	for _, ref := range slices.Sorted(maps.Keys(n.Resources)) {
		fmt.Fprintf(&b, "unit %q %d %q %q ", ref, n.Resources[ref], s.Payer.SharingID, s.Payer.Label)
	}
	for _, c := range s.limits {
		fmt.Fprintf(&b, "limit %d ", c.ID)
	}
	return b.String()
}

// release counts a party out of a sort.
func (cs *Claims) release(s *Sort) {
	if s.parties--; s.parties > 0 {
		return
	}
	delete(cs.sorts, s.text)
	for _, c := range s.limits {
		delete(c.sorts, s)
	}
}
