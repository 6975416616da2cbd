package gate

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/ready"
	"github.com/divvyhq/divvy/dispatcher/resource"
	"github.com/divvyhq/divvy/shares"
)

// Claims are all claims that are not over, and the jobs that hold them. Make one with NewClaims.
type Claims struct {
	by      map[int64]*claim
	parties map[string]*Party // by task and claims
	nParty  int64             // parties that there were
	held    *spans            // which jobs are of which party
	sorts   map[string]*Sort
	taken   taken
	linger  lingers
	lacking map[int64]bool // those whose template the site lacks
	costs   costs
	took    entry.Took // by the grant that follows
	now     time.Time
}

// claim is a claim with who may hold it.
type claim struct {
	SavedClaim
	parties map[*Party]struct{}
	sorts   map[*Sort]struct{} // that are shut while it is full
}

// Payer is the ID that pays for the units of a claim, beside the share.
type Payer struct{ SharingID, Label string }

// Party is jobs of a task that hold the same claims.
type Party struct {
	SavedParty
	claims []*claim
	key    string
	number int64
	sort   *Sort
}

// Span is jobs with ids from Low to High.
type Span struct {
	Low  int64 `json:"low"`
	High int64 `json:"high"`
}

// NewClaims has no claims.
func NewClaims() *Claims {
	return &Claims{by: map[int64]*claim{}, parties: map[string]*Party{}, held: newSpans(), sorts: map[string]*Sort{},
		lacking: map[int64]bool{}, taken: map[resource.Place]map[string]int64{}, costs: map[Payer]map[string]int64{}}
}

// Any says whether there is a claim: where there is none jobs hold none.
func (cs *Claims) Any() bool { return len(cs.by) > 0 }

// Sort is what the claims of the party ask of a slot now.
func (p *Party) Sort() *Sort { return p.sort }

// Apply follows an entry that is about claims alone. queue names the queues of the site.
func (cs *Claims) Apply(e entry.Entry, queue func(shares.QueueID) string) (Effects, error) {
	ch := change{claims: cs}
	var err error
	switch e := e.(type) {
	case entry.Claimed:
		err = cs.make(&ch, e, queue(e.Queue))
	case entry.Unclaimed:
		err = cs.unclaim(&ch, e.Claim)
	case entry.Joined:
		err = cs.join(&ch, e)
	case entry.Dropped:
		err = ch.drop(e)
	case entry.Took:
		cs.took = e
	case entry.Tick:
		err = cs.tick(&ch, e.Now)
	case entry.Adopted:
		err = cs.adopt(&ch, e.Site.ClaimTemplates)
	}
	if err != nil {
		return Effects{}, err
	}
	return ch.commit(), nil
}

// more has more jobs hold a claim than it was made for. Of one that people make it is said that jobs wait for it: they see what it is.
func (cs *Claims) more(ch *change, c *claim, e entry.Claimed) error {
	switch {
	case e.Outside():
		return nil
	case e.Jobs < 1:
		return fmt.Errorf("claim %d is there, for %d jobs more", e.Claim, e.Jobs)
	}
	if err := ch.several(c, resource.Joined, int64(e.Jobs)); err != nil {
		return err
	}
	c.Unmade += e.Jobs
	return nil
}

// make adds a claim, or puts one that people made anew at its place.
func (cs *Claims) make(ch *change, e entry.Claimed, queue string) error {
	at := resource.Place{Queue: queue, Node: e.Node}
	old := cs.by[e.Claim]
	if old != nil && old.External == e.Outside() && (!e.Outside() || e.Missing) {
		return cs.more(ch, old, e)
	}
	if old != nil && !(old.External && e.Outside() && (old.Missing || old.Deleted && old.Sharers == 0)) {
		return fmt.Errorf("claim %d is there", e.Claim)
	}
	if e.Outside() && !e.Missing {
		for _, id := range e.Devices {
			if of := cs.taken[at][id]; of != 0 {
				return fmt.Errorf("claim %d has %s of node %s", of, id, e.Node)
			}
		}
	}
	c := old
	if c == nil {
		c = cs.add(SavedClaim{ID: e.Claim, Task: e.Task, Key: e.Key, Payer: Payer{e.SharingID, e.Label}})
	}
	var next resource.Claim
	switch {
	case e.Outside() && e.Missing:
		next = resource.MissingClaim(e.Key, 0)
		next.External = true
	case e.Outside():
		next = resource.OutsideClaim(at, slices.Clone(e.Devices), e.Template.MaxSharers)
		next.Template.Name = e.Key
	case e.Missing:
		next, c.Unmade = resource.MissingClaim(e.Template.Name, e.Jobs), e.Jobs
	default:
		next, c.Unmade = resource.NewClaim(settled(e.Template), e.Jobs), e.Jobs
	}
	c.Deleted = false
	ch.put(c, next, resource.ClaimEffects{})
	return nil
}

func (cs *Claims) add(of SavedClaim) *claim {
	c := &claim{SavedClaim: of, parties: map[*Party]struct{}{}}
	cs.by[of.ID] = c
	return c
}

// stands has claims follow where one of them stands.
func (c *claim) stands(cs *Claims) {
	cs.costs.expect(c, 1)
	if c.Missing && !c.External && c.State == resource.ClaimPending {
		cs.lacking[c.ID] = true
	} else {
		delete(cs.lacking, c.ID)
	}
}

// settled is a template as claims have it: what is left of a gang has to start together again, so that its claim does not linger.
func settled(t shares.ClaimTemplate) shares.ClaimTemplate {
	if t.Gang {
		t.Linger = 0
	}
	return t
}

// unclaim ends a claim: with its last sharer, or at once.
func (cs *Claims) unclaim(ch *change, id int64) error {
	c := cs.by[id]
	switch {
	case c == nil: // it was over by itself
		return nil
	case !c.External:
		return ch.step(c, resource.ClaimEvent{Verb: resource.ScaledAway})
	}
	next := c.Claim
	next.State, c.Deleted = resource.ClaimDraining, true
	ch.put(c, gone(next), resource.ClaimEffects{})
	return nil
}

// gone is a claim that people deleted: without holders it has no place, until people make it again.
func gone(c resource.Claim) resource.Claim {
	if c.Sharers == 0 {
		next := resource.MissingClaim(c.Template.Name, 0)
		next.External = true
		return next
	}
	return c
}

// join has jobs hold claims from now on.
func (cs *Claims) join(ch *change, e entry.Joined) error {
	if e.High < e.Low || len(e.Claims) == 0 {
		return fmt.Errorf("jobs %d to %d of %d claims", e.Low, e.High, len(e.Claims))
	}
	if of := cs.held.meeting(e.Low, e.High); of != nil {
		return fmt.Errorf("jobs %d to %d hold claims already", of.low, of.high)
	}
	n := e.High - e.Low + 1
	all := make([]*claim, len(e.Claims))
	for i, id := range e.Claims {
		c := cs.by[id]
		switch {
		case c == nil:
			return fmt.Errorf("there is no claim %d", id)
		case slices.Contains(all[:i], c):
			return fmt.Errorf("claim %d is named twice", id)
		case !e.More && !c.External && n > int64(c.Unmade):
			return fmt.Errorf("claim %d is for %d jobs more, not %d", id, c.Unmade, n)
		}
		all[i] = c
		if e.More {
			if err := ch.several(c, resource.Joined, n); err != nil {
				return err
			}
		}
	}
	for _, c := range all {
		if !e.More && !c.External {
			c.Unmade -= int(n)
		}
	}
	p := cs.party(e.Task, all)
	p.Jobs += n
	if k := len(p.Spans) - 1; k >= 0 && p.Spans[k].High+1 == e.Low {
		cs.held.drop(p.Spans[k].Low)
		p.Spans[k].High = e.High
	} else {
		p.Spans = append(p.Spans, Span{e.Low, e.High})
	}
	last := p.Spans[len(p.Spans)-1]
	cs.held.add(last.Low, last.High, p)
	return nil
}

// party finds or makes the one of jobs with such claims.
func (cs *Claims) party(task int64, all []*claim) *Party {
	key := strconv.AppendInt(nil, task, 36)
	for _, c := range all {
		key = strconv.AppendInt(append(key, ' '), c.ID, 36)
	}
	p := cs.parties[string(key)]
	if p == nil {
		cs.nParty++
		p = &Party{SavedParty: SavedParty{Task: task}, claims: all, key: string(key), number: cs.nParty}
		cs.parties[p.key] = p
		for _, c := range all {
			p.Claims = append(p.Claims, c.ID)
			c.parties[p] = struct{}{}
		}
		p.sort = cs.sortOf(p)
	}
	return p
}

// drop counts jobs without a lease as over, or as not to be made.
func (ch *change) drop(e entry.Dropped) error {
	if e.Claim != 0 {
		c := ch.claims.by[e.Claim]
		if c == nil || c.External || e.Unmade < 1 || e.Unmade > c.Unmade {
			return fmt.Errorf("%d jobs of claim %d, which are not to be made", e.Unmade, e.Claim)
		}
		if err := ch.several(c, resource.Dropped, int64(e.Unmade)); err != nil {
			return err
		}
		c.Unmade -= e.Unmade
		return nil
	}
	return ch.dropJobs(Span{e.Low, e.High})
}

// dropJobs counts jobs without a lease as over.
func (ch *change) dropJobs(ids Span) error {
	for part, p := range ch.claims.Split(ids.Low, ids.High) {
		if p == nil {
			continue
		}
		n := part.High - part.Low + 1
		if n > p.Jobs {
			return fmt.Errorf("jobs %d to %d: %d of them are left", part.Low, part.High, p.Jobs)
		}
		for _, c := range p.claims {
			if err := ch.several(c, resource.Dropped, n); err != nil {
				return err
			}
		}
		ch.left(p, n)
	}
	return nil
}

// Over has jobs without a lease hold their claims no more: they were killed or closed.
func (cs *Claims) Over(jobs []ready.Part) (Effects, error) {
	if len(cs.by) == 0 {
		return Effects{}, nil
	}
	ch := change{claims: cs}
	for _, part := range jobs {
		if err := ch.dropJobs(Span{part.Low, part.High}); err != nil {
			return Effects{}, err
		}
	}
	return ch.commit(), nil
}

// adopt gives claims that wait for a template of the site the one that it has now. Claims that have one keep it.
func (cs *Claims) adopt(ch *change, templates []shares.ClaimTemplate) error {
	for _, id := range slices.Sorted(maps.Keys(cs.lacking)) {
		c := cs.by[id]
		i := slices.IndexFunc(templates, func(t shares.ClaimTemplate) bool { return t.Name == c.Template.Name })
		if i < 0 {
			continue
		}
		if err := ch.stepFrom(c, c.Claim, resource.ClaimEvent{Verb: resource.TemplateSet, Template: settled(templates[i])}); err != nil {
			return err
		}
	}
	return nil
}

// tick ends what has lingered long enough.
func (cs *Claims) tick(ch *change, now time.Time) error {
	cs.now = now
	for _, id := range cs.linger.due(now) {
		if c := cs.by[id]; c != nil {
			if err := ch.stepFrom(c, c.Claim, resource.ClaimEvent{Verb: resource.LingerOver, At: now}); err != nil {
				return err
			}
		}
	}
	return nil
}

// Split cuts a range of ids where the party of the jobs changes; a nil party: these jobs hold no claims.
func (cs *Claims) Split(low, high int64) iter.Seq2[Span, *Party] {
	return func(yield func(Span, *Party) bool) {
		if len(cs.by) == 0 {
			yield(Span{low, high}, nil)
			return
		}
		cs.held.split(low, high, yield)
	}
}

// Of is the party of a job; nil: it holds no claims.
func (cs *Claims) Of(job int64) *Party {
	if len(cs.by) == 0 {
		return nil
	}
	if s := cs.held.meeting(job, job); s != nil {
		return s.party
	}
	return nil
}

// byNumber is the order in which parties were made.
func byNumber(a, b *Party) int { return cmp.Compare(a.number, b.number) }

func sorted(parties map[*Party]struct{}) []*Party {
	return slices.SortedFunc(maps.Keys(parties), byNumber)
}
