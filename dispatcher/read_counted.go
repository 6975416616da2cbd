package dispatcher

import "context"

// A read may find jobs before the ledger's rows of them have come here, or before the end of their last attempt is counted. They
// must not be given yet: their share would be asked without the demand that they are, and come after others that it
// goes before. Where one daemon leases it never does; what others have leased meanwhile may hide such a job.

// mostCountFirst bounds how often the ledger is followed for one read: the jobs that remain are given as they are.
const mostCountFirst = 3

// countFirst follows the ledger until what was read is counted.
func (d *Dispatcher) countFirst(ctx context.Context, uncounted func(*state) bool) error {
	for range mostCountFirst {
		d.mu.Lock()
		more := uncounted(d.state)
		d.mu.Unlock()
		if !more {
			return nil
		}
		if err := d.follow(ctx); err != nil {
			return err
		}
	}
	return nil
}

// follow reads what the others have written into the ledger up to now.
func (d *Dispatcher) follow(ctx context.Context) error {
	d.refreshing.Lock()
	defer d.refreshing.Unlock()
	for {
		if n, err := d.followTails(ctx); err != nil || n < tailRows {
			return err
		}
	}
}

// uncounted says whether a window would have more jobs with those that were read than count as ready.
func (s *state) uncounted(w *window, read ...[]readyRow) bool {
	n := int64(len(w.jobs))
	for _, rows := range read {
		for _, r := range rows {
			if _, has := w.find(stand{r.Place, r.ID}); !has && s.inflight[r.ID] == nil {
				n++
			}
		}
	}
	return n > w.ready
}

// uncountedOf says whether more jobs of some window were read than count as ready.
func (s *state) uncountedOf(rows []narrowRow) bool {
	n := map[windowKey]int64{}
	for _, r := range rows {
		key := windowKey{r.ShareID, r.ShapeID}
		if s.inflight[r.ID] != nil {
			continue
		}
		n[key]++
		if w := s.windows[key]; w == nil || n[key] > w.ready {
			return true
		}
	}
	return false
}
