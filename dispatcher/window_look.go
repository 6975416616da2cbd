package dispatcher

import "time"

// lookAtWindows is done at every refresh. There may be a window for every user of every share: one about which nothing has
// changed costs a glance. d.mu is held.
func (d *Dispatcher) lookAtWindows(now time.Time) {
	stirred := map[*outline]bool{} // one window speaks for all that the same slots may run
	for _, w := range d.state.windows {
		w.starts.fold(now)
		doubtful := len(w.doubt) > 0
		if w.look() || w.opened != (w.leaf >= 0 && w.open()) || w.shape.need.Claims.Starts() {
			d.state.check(w)
		}
		unread := w.idle == 0 && w.ready > 0 && len(w.jobs) == 0 && !w.end
		if (doubtful || unread) && w.leaf >= 0 && !stirred[w.shape.outline] {
			stirred[w.shape.outline] = true
			d.stirWindow(w)
		}
	}
}

// look asks for jobs in doubt again, and has a window that finds nothing although the ledger says that there is something
// read anew from the top. It says whether what the window may give has changed.
func (w *window) look() (changed bool) {
	changed = len(w.doubt) > 0
	for _, s := range w.doubt {
		w.announce(s)
	}
	w.doubt = nil
	changed = w.lookAtGround() || changed
	if w.ready <= 0 || len(w.jobs) > 0 || !w.end || w.filling || w.parked > 0 {
		w.idle = 0
		return changed
	}
	if w.idle++; w.idle >= 10 {
		w.reset()
		changed = true
	}
	return changed
}
