package fold

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/gate"
	"github.com/divvyhq/divvy/dispatcher/resource"
	"github.com/divvyhq/divvy/shares"
)

// Claims are claims and the jobs that hold them, as tables have them. A step knows a part: the claims that it may change, all parties of
// these, and the other claims of those parties.
type Claims struct {
	Rows    []Claim
	Parties []Party         // in the order of Nth
	Now     time.Time       // of the last Tick
	Site    *shares.Version // in force; nil: none, or not looked up
}

// Claim is a row of claims. One that is over has the place and the devices that it had before.
type Claim struct {
	gate.SavedClaim
	MadeAt  time.Time
	BoundAt time.Time // zero: it is not bound
	EndedAt time.Time // zero: it is live
}

// Party is a row of claim_parties, with its rows of claim_jobs: jobs that hold the same claims.
type Party struct {
	gate.SavedParty
	Nth int64 // of the entry that made it: parties count in this order
}

// PartySpan is a row of claim_jobs.
type PartySpan struct {
	Low   int64
	High  int64
	Party int64
	Order int32 // among those of the party
}

// rows are its rows of claim_jobs.
func (p Party) rows() (rows []PartySpan) {
	for i, ids := range p.Spans {
		rows = append(rows, PartySpan{ids.Low, ids.High, p.Nth, int32(i)})
	}
	return rows
}

// ClaimChanges are the rows that come, change and go.
type ClaimChanges struct {
	Rows    []Claim
	Parties []Party
	Over    []int64 // parties, by Nth, with their spans
	Spans   []PartySpan
}

// claims are Claims within a step. What becomes of them says package gate.
type claims struct {
	*gate.Claims
	known Claims
	now   time.Time
	site  shares.Version   // in force
	rows  map[int64]*Claim // of claims that are known or were made: the times, and all of those that are over
	nths  map[string]int64 // of parties
}

func newClaims(known Claims) (*claims, error) {
	c := &claims{Claims: gate.NewClaims(), known: known, now: known.Now, rows: map[int64]*Claim{}, nths: map[string]int64{}}
	if known.Site != nil {
		c.site = *known.Site
	}
	saved := gate.Saved{}
	for _, r := range known.Rows {
		c.rows[r.ID] = &r
		if r.EndedAt.IsZero() {
			saved.Claims = append(saved.Claims, r.SavedClaim)
		}
	}
	for _, p := range known.Parties {
		c.nths[partyKey(p.SavedParty)] = p.Nth
		p.Spans = slices.Clone(p.Spans)
		saved.Parties = append(saved.Parties, p.SavedParty)
	}
	return c, c.Restore(&saved, known.Now)
}

func partyKey(p gate.SavedParty) string { return fmt.Sprint(p.Task, p.Claims) }

func (s *step) claim(e entry.Entry) {
	if err := s.claims.follow(e, s.at, s.nth); err != nil {
		s.misfit("%v", err)
	}
}

func (c *claims) follow(e entry.Entry, at time.Time, nth int64) error {
	switch e := e.(type) {
	case entry.Claimed:
		return c.made(e, at)
	case entry.Unclaimed:
		return c.change([]int64{e.Claim}, at, func() error { return c.apply(e) })
	case entry.Joined:
		err := c.apply(e)
		if p := c.Of(e.Low); err == nil && p.Spans[0].Low == e.Low {
			c.nths[partyKey(gate.SavedParty{Task: e.Task, Claims: e.Claims})] = nth
		}
		return err
	case entry.Dropped:
		if e.Claim == 0 {
			return c.dropped(e.Low, e.High, at)
		}
		return c.change([]int64{e.Claim}, at, func() error { return c.apply(e) })
	case entry.Tick:
		if !e.Now.After(c.now) {
			return nil
		}
		c.now = e.Now
	case entry.Adopted:
		if e.Site == nil {
			return nil
		}
		c.site = *e.Site
	}
	return c.apply(e)
}

func (c *claims) apply(e entry.Entry) error {
	_, err := c.Apply(e, func(id shares.QueueID) string { return c.site.Queue(id).Name })
	return err
}

func (c *claims) made(e entry.Claimed, at time.Time) error {
	if err := c.apply(e); err != nil {
		return err
	}
	row := c.rows[e.Claim]
	if row == nil || !row.EndedAt.IsZero() {
		row = &Claim{MadeAt: at}
		c.rows[e.Claim] = row
	}
	if e.Outside() && !e.Missing {
		row.BoundAt = at
	}
	return nil
}

func (c *claims) grant(e entry.Granted, at time.Time) error {
	ids := c.HeldBy(e.Job)
	if len(ids) == 0 {
		return nil
	}
	was := c.shown(ids)
	_, err := c.Granted(gate.Grant{Job: e.Job, Place: resource.Place{Queue: c.site.Queue(e.Queue).Name, Node: e.Node}, Queue: e.Queue, Share: e.Share})
	if err != nil {
		return err
	}
	for _, w := range was {
		if w.State == resource.ClaimPending {
			c.rows[w.ID].BoundAt = at
		}
	}
	return nil
}

func (c *claims) end(e entry.Ended, at time.Time) error {
	ids := c.HeldBy(e.Job)
	if len(ids) == 0 {
		return nil
	}
	return c.change(ids, at, func() error {
		_, err := c.Ended(gate.End{Job: e.Job, Lost: e.Outcome == entry.Lost, Again: !e.Next.Final()})
		return err
	})
}

// dropped has jobs without a lease be over.
func (c *claims) dropped(low, high int64, at time.Time) error {
	if !c.Any() {
		return nil
	}
	var ids []int64
	for part, p := range c.Split(low, high) {
		if p != nil {
			ids = append(ids, c.HeldBy(part.Low)...)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	return c.change(ids, at, func() error { return c.apply(entry.Dropped{Low: low, High: high}) })
}

func (c *claims) shown(ids []int64) (list []gate.Shown) {
	for _, id := range ids {
		if shown, ok := c.Claim(id); ok {
			list = append(list, shown)
		}
	}
	return list
}

// change does something after which some of the claims may be over.
func (c *claims) change(ids []int64, at time.Time, do func() error) error {
	was := c.shown(ids)
	if err := do(); err != nil {
		return err
	}
	for _, w := range was {
		if _, ok := c.Claim(w.ID); ok {
			continue
		}
		over := gate.SavedClaim{Claim: w.Claim, ID: w.ID, Task: w.Task, Key: w.Key, Payer: w.Payer, Queue: w.Queue, Deleted: w.External}
		over.Claim.State, over.Claim.Sharers, over.Claim.Jobs, over.Claim.Since = resource.ClaimReleased, 0, 0, time.Time{}
		row := c.rows[w.ID]
		row.SavedClaim, row.EndedAt = over, at
		if !isBound(w.Claim) {
			row.BoundAt = time.Time{}
		}
	}
	return nil
}

func isBound(c resource.Claim) bool {
	return c.State == resource.ClaimBound || c.State == resource.ClaimDraining
}

// all are the rows as they are now.
func (c *claims) all() (rows []Claim, parties []Party) {
	live := map[int64]bool{}
	if saved := c.Save(); saved != nil {
		for _, s := range saved.Claims {
			row := *c.rows[s.ID]
			row.SavedClaim, row.EndedAt, live[s.ID] = s, time.Time{}, true
			if !isBound(s.Claim) {
				row.BoundAt = time.Time{}
			}
			rows = append(rows, row)
		}
		for _, p := range saved.Parties {
			parties = append(parties, Party{p, c.nths[partyKey(p)]})
		}
	}
	for id, row := range c.rows {
		if !live[id] {
			rows = append(rows, *row)
		}
	}
	slices.SortFunc(rows, func(a, b Claim) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(parties, func(a, b Party) int { return cmp.Compare(a.Nth, b.Nth) })
	return rows, parties
}

// changes compares them with what was known.
func (c *claims) changes() (ch ClaimChanges) {
	if len(c.rows) == 0 {
		return ch
	}
	rows, parties := c.all()
	had := map[int64]string{}
	for _, r := range c.known.Rows {
		had[r.ID] = r.text()
	}
	for _, r := range rows {
		if had[r.ID] != r.text() {
			ch.Rows = append(ch.Rows, r)
		}
	}
	before, spans := map[int64]Party{}, map[PartySpan]bool{}
	for _, p := range c.known.Parties {
		before[p.Nth] = p
		for _, row := range p.rows() {
			spans[row] = true
		}
	}
	for _, p := range parties {
		if old, ok := before[p.Nth]; !ok || old.Jobs != p.Jobs {
			ch.Parties = append(ch.Parties, p)
		}
		delete(before, p.Nth)
		for _, row := range p.rows() {
			if !spans[row] {
				ch.Spans = append(ch.Spans, row)
			}
		}
	}
	for nth := range before {
		ch.Over = append(ch.Over, nth)
	}
	slices.Sort(ch.Over)
	return ch
}

// text is all of a row.
func (r Claim) text() string {
	text, _ := json.Marshal(r.SavedClaim)
	return fmt.Sprintf("%s made %d, bound %d, ended %d", text, micros(r.MadeAt), micros(r.BoundAt), micros(r.EndedAt))
}

// micros is a Unix time in microseconds; 0 for the zero time.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}
