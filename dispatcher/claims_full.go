package dispatcher

import "github.com/divvyhq/divvy/dispatcher/resource"

// parking is where jobs wait whose claim has as many sharers as it may have: by window, in spans. They are looked for again
// when there is a place, a few at a time, since one place is for one of them.
type parking map[*window][]span

// parkedFew is how many ids of a window are looked at again for the places of one claim.
const parkedFew = 64

// full says whether the claim has as many sharers as it may have, as far as this daemon knows.
func (c *liveClaim) full() bool {
	most := c.Template.MaxSharers
	return most > 0 && c.State == resource.ClaimBound && c.Sharers >= most
}

// park puts a job aside until one of those leaves the claim that hold it.
func (cs *claims) park(c *liveClaim, w *window, job readyJob) {
	if c.parked == nil {
		c.parked = parking{}
		cs.parked[c] = true
	}
	of := c.parked[w]
	if of == nil {
		w.parked++
	}
	if n := len(of) - 1; n >= 0 && of[n].place == job.place {
		of[n].low, of[n].high = min(of[n].low, job.id), max(of[n].high, job.id)
	} else {
		of = append(of, span{job.place, job.id, job.id})
	}
	c.parked[w] = of
}

// unpark has jobs looked for again of which a claim has a place. It returns the windows that they are in.
func (cs *claims) unpark() (windows []*window) {
	for c := range cs.parked {
		if c.full() && cs.by[c.id] == c {
			continue
		}
		for w, of := range c.parked {
			few := of[0]
			few.high = min(few.high, few.low+parkedFew-1)
			w.announce(few)
			windows = append(windows, w)
			if of[0].low = few.high + 1; of[0].low > of[0].high {
				of = of[1:]
			}
			if c.parked[w] = of; len(of) == 0 {
				w.parked--
				delete(c.parked, w)
			}
		}
		if len(c.parked) == 0 {
			c.parked = nil
			delete(cs.parked, c)
		}
	}
	return windows
}
