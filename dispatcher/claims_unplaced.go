package dispatcher

import (
	"context"
	"maps"

	"github.com/divvyhq/divvy/dispatcher/resource"
)

// unplaced is where claims were bound since their jobs were last looked at: the other jobs of them have shapes yet that ask for
// what their claim has already. A pull that such a job may be for is not told that there is none: it waits until TendClaims
// has been there. Guarded by Dispatcher.mu.
type unplaced struct {
	at      map[resource.Place]int64 // and when, in binds; the zero place: claims that are held from anywhere
	binds   int64
	tending bool // on behalf of pulls that wait
}

// bound notes that a grant was committed that bound a claim.
func (p *unplaced) bound(c *liveClaim) {
	at := resource.Place{}
	if c.Local {
		at = c.Place
	}
	p.binds++
	p.at[at] = p.binds
}

// awaits says whether a slot may be for jobs that are about to be placed.
func (p *unplaced) awaits(at resource.Place) bool {
	return len(p.at) > 0 && (p.at[at] > 0 || p.at[resource.Place{}] > 0)
}

// looked notes that jobs of all claims that were bound up to then have been looked at.
func (p *unplaced) looked(binds int64) {
	maps.DeleteFunc(p.at, func(_ resource.Place, bind int64) bool { return bind <= binds })
}

// noneYet is the verdict on a pull for which there is nothing, as far as jobs have been placed.
func (s *state) noneYet(p *pull, n *needs) decision {
	if s.claims.placing.awaits(placeOf(p)) {
		n.placing = true
		return blocked
	}
	return none
}

// lookedAt is looked, for a daemon.
func (d *Dispatcher) lookedAt(binds int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.state.claims.placing.looked(binds)
}

// placeClaims has claims tended for pulls that wait for that. d.mu is held.
func (d *Dispatcher) placeClaims() {
	p := &d.state.claims.placing
	if p.tending || d.stopping {
		return
	}
	p.tending = true
	upto := p.binds
	d.work.Go(func() {
		_, err := d.TendClaims(context.Background())
		d.mu.Lock()
		defer d.mu.Unlock()
		if err != nil { // pulls are not to wait for what is not to be had
			d.cfg.Log.Warn("claims cannot be tended", "err", err)
			p.looked(upto)
		}
		p.tending = false
		d.line.unblock(d, nil)
		d.kick()
	})
}
