package dispatcher

import (
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/resource"
	"github.com/divvyhq/divvy/shares"
)

// ClaimNeedOf is what a job asks for none of whose claims is bound.
func ClaimNeedOf(made []NewClaim) *job.ClaimNeed {
	claims := make([]resource.Claim, len(made))
	for i, c := range made {
		claims[i] = resource.NewClaim(c.Template, c.Members)
		claims[i].Missing = c.Missing || c.Outside
	}
	return job.NeedOf(claims)
}

// claims are the live claims as this daemon knows them. Guarded by Dispatcher.mu.
type claims struct {
	by      map[int64]*liveClaim
	taken   map[resource.Place]map[string]int64 // devices, and the claim that each was taken for
	nodes   map[resource.Place][]*outline       // of jobs that run there only
	counts  map[resource.ClaimState]int         // for metrics
	shapes  int                                 // of jobs with claims; 0: there are none, and nobody looks
	news    bool                                // the first of them has come: nodes are not alike any more
	since   string                              // snapshot by which they were read
	hearing bool                                // they are about to be read
	again   map[int64]bool                      // to be read again
	moved   map[resource.Place]bool             // claims have gone from there, or come, by what was read last
	missing map[int64]bool                      // they wait for a template of the site
	costs   map[claimPayer]map[string]int64     // units of resources that pending ones will hold, by who will have them counted
	parked  map[*liveClaim]bool                 // jobs wait until they have fewer sharers
	placing unplaced                            // where jobs of claims that were just bound are to be looked at
	asking  resource.Offer                      // of the present decision
}

// liveClaim is a claim that is not released.
type liveClaim struct {
	resource.Claim
	id       int64
	task     int64
	key      string
	queue    shares.QueueID // of its place
	payer    *claimPayer    // of one whose template is missing
	charge   *shape         // of its units, see charger; nil: it has none
	parked   parking        // jobs that wait until it has fewer sharers
	awaited  bool           // its units are in claims.costs
	inflight int            // grants of this daemon that are not committed
	fresh    bool           // it is bound by one of these
	unsure   bool           // somebody was faster: where it is has to be read
}

func newClaims() claims {
	return claims{by: map[int64]*liveClaim{}, taken: map[resource.Place]map[string]int64{}, nodes: map[resource.Place][]*outline{},
		counts: map[resource.ClaimState]int{}, since: beforeAll, again: map[int64]bool{}, missing: map[int64]bool{},
		costs: map[claimPayer]map[string]int64{}, parked: map[*liveClaim]bool{}, moved: map[resource.Place]bool{},
		placing: unplaced{at: map[resource.Place]int64{}}}
}

// know notes an outline of jobs with claims.
func (cs *claims) know(o *outline) {
	need := o.need.Claims
	if need == nil {
		return
	}
	cs.news = cs.news || cs.shapes == 0
	cs.shapes++
	if need.Bound() {
		cs.nodes[need.Place()] = append(cs.nodes[need.Place()], o)
	}
}

// offer is what a slot has for claims: its node, and those of its devices that are free.
func (cs *claims) offer(p *pull) resource.Offer {
	return cs.free(resource.Place{Queue: p.req.Queue, Node: p.req.Node}, p.req.Devices)
}

// free is what a node has for claims: those of its devices that none has.
func (cs *claims) free(at resource.Place, devices []string) resource.Offer {
	o := resource.Offer{Place: at, Devices: devices}
	if taken := cs.taken[o.Place]; len(taken) > 0 {
		free := make([]string, 0, len(o.Devices))
		for _, id := range o.Devices {
			if _, is := taken[id]; !is {
				free = append(free, id)
			}
		}
		o.Devices = free
	}
	return o
}

// put is what a claim is from now on: pending, or bound at a place with these devices.
func (cs *claims) put(c *liveClaim, state resource.ClaimState, at resource.Place, devices []string) {
	for _, id := range c.Devices {
		if cs.taken[c.Place][id] == c.id { // else it is another's already: news come in any order
			delete(cs.taken[c.Place], id)
		}
		if len(cs.taken[c.Place]) == 0 {
			delete(cs.taken, c.Place)
		}
	}
	cs.expect(c, state == resource.ClaimPending)
	cs.counts[c.State]--
	cs.counts[state]++
	c.State, c.Place, c.Devices, c.Local = state, at, devices, state == resource.ClaimBound && at.Node != "" && (c.External || resource.Local(c.Template))
	for _, id := range devices {
		if cs.taken[at] == nil {
			cs.taken[at] = map[string]int64{}
		}
		cs.taken[at][id] = c.id
	}
}

// among adds those outlines that the slot's node alone can run, and leaves out those of claims that it cannot hold.
// fits says whether the slot can run jobs of an outline, but for claims; all: those too of which no window is open.
func (cs *claims) among(fit []*outline, all bool, fits func(*outline) bool) []*outline {
	if cs.shapes == 0 {
		return fit
	}
	reach := make([]*outline, 0, len(fit)+4)
	for _, o := range fit {
		if !o.need.Claims.Bound() && !o.need.Claims.Starts() && o.need.Claims.MetBy(cs.asking) {
			reach = append(reach, o)
		}
	}
	for _, o := range cs.nodes[cs.asking.Place] {
		if (all || o.nOpen > 0) && !o.need.Claims.Starts() && o.need.Claims.MetBy(cs.asking) && fits(o) {
			reach = append(reach, o)
		}
	}
	return reach
}

// of are the claims of a job; ok is false when one is not known, or where it is.
func (cs *claims) of(job *readyJob) (live []*liveClaim, ok bool) {
	if len(job.claims) == 0 {
		return nil, false // its shape says that it has some
	}
	live = make([]*liveClaim, len(job.claims))
	for i, id := range job.claims {
		if live[i] = cs.by[id]; live[i] == nil || live[i].unsure {
			return nil, false
		}
	}
	return live, true
}

// admit says whether the slot that is being decided for may hold all claims of a job of the window, and with which devices.
// full: the one that refuses it for having as many sharers as it may have.
func (cs *claims) admit(w *window, job *readyJob) (live []*liveClaim, devices [][]string, full *liveClaim, ok bool) {
	if live, ok = cs.of(job); !ok {
		return nil, nil, nil, false
	}
	all := make([]resource.Claim, len(live))
	for i, c := range live {
		all[i] = c.Claim
	}
	devices, refused, why := resource.AdmitsAll(all, cs.asking)
	if why == resource.ClaimFull {
		full = live[refused]
	}
	return live, devices, full, why == "" && covers(w.shape.full.Claims, live)
}

// sift puts those first jobs of a window aside that the slot cannot hold the claims of, whatever their shape says: a claim
// was bound a moment ago, and they are about to go to another shape, or it has all the sharers that it may have.
func (s *state) sift(w *window) {
	if w.shape.need.Claims == nil {
		return
	}
	sifted := false
	for len(w.jobs) > 0 {
		_, _, full, ok := s.claims.admit(w, &w.jobs[0])
		if ok {
			break
		}
		if job := w.pop(); full != nil && !w.private {
			s.claims.park(full, w, job)
		} else {
			w.doubtJob(job)
		}
		sifted = true
	}
	if sifted && !w.private {
		s.check(w)
	}
}

// doubtJob has a job looked for again at the next refresh.
func (w *window) doubtJob(job readyJob) {
	if n := len(w.doubt) - 1; n >= 0 && w.doubt[n].place == job.place {
		w.doubt[n].low, w.doubt[n].high = min(w.doubt[n].low, job.id), max(w.doubt[n].high, job.id)
		return
	}
	w.doubt = append(w.doubt, span{job.place, job.id, job.id})
}
