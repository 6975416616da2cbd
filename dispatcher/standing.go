package dispatcher

import (
	"context"
	"time"

	"github.com/divvyhq/divvy/dispatcher/explain"
	"github.com/divvyhq/divvy/dispatcher/holdings"
	"github.com/divvyhq/divvy/dispatcher/rules"
	"github.com/divvyhq/divvy/internal/pg"
)

// Standing is the state of all pools as this daemon knows it now.
func (r *Reads) Standing() (st explain.Standing) {
	st.Pools = []explain.PoolStanding{}
	r.now(explain.Moment{}, func(m explain.Moment) { st = m.Standing() })
	return st
}

// outlookWithin bounds how long an Outlook waits for the database.
const outlookWithin = 2 * time.Second

// Outlook is the Standing and how long each share waits for its target if nothing is reclaimed, and how long the next of its jobs has
// waited. When the database does not answer, those waits are unknown and the rest is told.
func (r *Reads) Outlook(ctx context.Context) explain.Standing {
	ctx, cancel := context.WithTimeout(ctx, outlookWithin)
	defer cancel()
	var m explain.Moment
	if ends, err := rules.EndRates(ctx, r.d.cfg.Pool); err == nil {
		m.Ends = ends
	}
	var heads []int64
	if r.see(ctx, m, func(m explain.Moment) { heads = m.Heads() }) == nil {
		m.Waited = r.waited(ctx, heads)
	}
	st := explain.Standing{Pools: []explain.PoolStanding{}}
	r.now(m, func(m explain.Moment) { st = m.Outlook() })
	return st
}

// waited is how long jobs have waited since the submission of their tasks; nothing when the database does not answer.
func (r *Reads) waited(ctx context.Context, jobs []int64) map[int64]float64 {
	type row struct {
		ID      int64
		Seconds float64
	}
	rows, err := pg.Collect[row](ctx, r.d.cfg.Pool, query["waited"], pg.Args{"jobs": jobs})
	if err != nil {
		return nil
	}
	all := make(map[int64]float64, len(rows))
	for _, w := range rows {
		all[w.ID] = w.Seconds
	}
	return all
}

// Queues is the state of all queues as this daemon knows it now, in file order.
func (r *Reads) Queues() (list []explain.QueueStanding) {
	list = []explain.QueueStanding{}
	r.now(explain.Moment{Holes: r.black(context.Background())}, func(m explain.Moment) { list = m.Queues() })
	return list
}

// GangHolds lists the nodes of which this daemon holds slots for gangs.
func (r *Reads) GangHolds() (list []GangHold) {
	list = []GangHold{}
	r.now(explain.Moment{}, func(m explain.Moment) { list = append(list, holdings.GangHolds(m)...) })
	return list
}

// Counts is how many jobs are ready and leased, as this daemon knows it now. The names of queues are shared between counts and not to be
// changed.
func (r *Reads) Counts() (list []explain.Count) {
	list = []explain.Count{}
	r.now(explain.Moment{}, func(m explain.Moment) { list = m.Counts() })
	return list
}

// Stock says how well every (share, shape) that has or had jobs is supplied.
func (r *Reads) Stock() (list []explain.Stock) {
	list = []explain.Stock{}
	r.now(explain.Moment{Starts: r.lately.starts()}, func(m explain.Moment) { list = m.Stock() })
	return list
}

// ShareStock says how well the leaves at and below a share (empty: all) are supplied at the queue of a name (empty: all).
func (r *Reads) ShareStock(share, queue string) (list []explain.ShareStock) {
	list = []explain.ShareStock{}
	r.now(explain.Moment{Starts: r.lately.starts()}, func(m explain.Moment) { list = m.ShareStock(share, queue) })
	return list
}
