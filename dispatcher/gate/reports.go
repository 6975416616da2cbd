package gate

import (
	"slices"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/shares"
)

// report is what the server of a resource last said of its units.
type report struct {
	entry.Reported
	stale bool // it is older than external_expires, and counts no more
}

// Report puts a report in force as of a moment. One of a resource that the site does not have, or not so, counts when it has.
func (sp *Supplies) Report(e entry.Reported, now time.Time) {
	if sp.reports == nil {
		sp.reports = map[supplyKey]*report{}
	}
	key := supplyKey{e.Name, e.Queue}
	sp.reports[key], sp.now = &report{Reported: e}, now
	if sup := sp.reported(key); sup != nil {
		sup.follow()
	}
}

// reported finds or makes the supply of a report; nil when the site has none such.
func (sp *Supplies) reported(key supplyKey) *Supply {
	of, ok := sp.version.Resource(key.ref)
	if !ok || of.BuiltIn() || of.PerQueue != (key.queue != 0) {
		return nil
	}
	queue, ok := sp.queueName(key.queue)
	if of.PerQueue && !ok {
		return nil
	}
	return sp.supply(key, &of, queue)
}

// queueName is that of a queue of the site; false if it has no such queue.
func (sp *Supplies) queueName(id shares.QueueID) (name string, ok bool) {
	i := slices.IndexFunc(sp.version.Queues, func(q shares.Queue) bool { return q.ID == id })
	if i < 0 {
		return "", false
	}
	return sp.version.Queues[i].Name, true
}

// follow brings the book up to what the last report says, or to none when that is too old.
func (sup *Supply) follow() {
	r := sup.all.reports[sup.key]
	if r == nil {
		return
	}
	if r.stale = sup.all.now.Sub(r.At) > sup.Of.ExternalExpires; r.stale {
		sup.Book.ClearExternal()
	} else {
		sup.Book.SetExternal(r.Total, r.Used, r.Settled)
	}
	sup.Ease()
}

// expire has reports count no more that are too old. It says whether there were some.
func (sp *Supplies) expire() (some bool) {
	for key, r := range sp.reports {
		if sup := sp.by[key]; sup != nil && !r.stale && sp.now.Sub(r.At) > sup.Of.ExternalExpires {
			sup.follow()
			some = true
		}
	}
	return some
}

// Reports are the last ones, in the order of their resources.
func (sp *Supplies) Reports() (list []entry.Reported) {
	for _, key := range keysOf(sp.reports) {
		list = append(list, sp.reports[key].Reported)
	}
	return list
}
