package dispatcher

import (
	"fmt"
	"strings"
	"time"

	"github.com/divvyhq/divvy/dispatcher/resource"
	"github.com/divvyhq/divvy/shares"
)

// isResource says whether a gate is one of resources.
func gateIsResource(g Gate) bool { return strings.HasPrefix(string(g), "resource_") }

// scarce says which resource keeps the job from a queue, by what all daemons hold; "" when none does.
func (g *gates) scarce(q *queue) (Gate, string) {
	s, sh := g.s, g.shape
	for i := range sh.asks {
		if a := &sh.asks[i]; a.of == nil {
			return GateResourceUnknown, fmt.Sprintf("%s: the site has %s", s.version.NoResource(a.ref), s.version.ResourceNames())
		}
	}
	w := s.windows[windowKey{g.job.ShareID, sh.id}]
	if sh.asks == nil || w == nil {
		return "", ""
	}
	now := s.now()
	ok, why := s.bundle(w, q).Explain(now)
	if ok {
		return "", ""
	}
	for i := range sh.asks {
		if sup := s.supplyAt(&sh.asks[i], q); sup.book.Name() == why.Resource {
			return sup.gate(why.Rule), sup.words(why, now)
		}
	}
	return gateOfRule[why.Rule], ""
}

// words is a refusal for people.
func (sup *supply) words(why resource.Refusal, now time.Time) string {
	if sup.of.BuiltIn() {
		return sup.ioWords(why, now)
	}
	name, b := sup.name(), sup.book
	who := fmt.Sprintf("%s holds %d", why.ID, why.Held)
	part := fmt.Sprintf("%s, its part is %d", who, why.Allowance)
	if why.Rule == resource.Capacity && why.Need > b.Capacity() {
		return fmt.Sprintf("it needs %d units of %s, and there are %d in all: no end of a job helps", why.Need, name, b.Capacity())
	}
	switch why.Rule {
	case resource.Capacity:
		return fmt.Sprintf("%d of %d units of %s are held, it needs %d; %s", b.Held(), b.Capacity(), name, why.Need, part)
	case resource.External:
		return fmt.Sprintf("of %d units of %s others use so many outside of this site that %d are left for it, of which %d are held; it needs %d; %s",
			b.Capacity(), name, b.Usable(), b.Held(), why.Need, part)
	case resource.Reservation:
		return fmt.Sprintf("%d units of %s are free, and kept for a job of %s that was passed over%s; it needs %d",
			why.Free, name, strings.Join(why.KeptFor, ", "), until(why.Until, now), why.Need)
	}
	return fmt.Sprintf("%s of %s, which is its part of %d; %d are free, and kept for %s%s", who, name, b.Usable(), why.Free,
		shortList(why.KeptFor), until(why.Until, now))
}

// ioWords is a refusal by the max_io of a queue.
func (sup *supply) ioWords(why resource.Refusal, now time.Time) string {
	most, need := shares.Units(sup.book.Capacity()), shares.Units(why.Need)
	switch {
	case why.Rule == resource.Reservation:
		return fmt.Sprintf("max_io of the queue: %s MB/s are free, and kept for a job that was passed over%s; it needs %s",
			shares.Units(why.Free), until(why.Until, now), need)
	case need > most:
		return fmt.Sprintf("max_io of the queue: it needs %s MB/s, and all jobs there may have %s: no end of a job helps", need, most)
	}
	return fmt.Sprintf("max_io of the queue: its jobs have %s of %s MB/s, it needs %s", shares.Units(sup.book.Held()), most, need)
}

// name is what people call it.
func (sup *supply) name() string {
	if sup.queue != nil {
		return sup.key.ref + " at " + sup.queue.Name
	}
	return sup.key.ref
}

// until says when a reservation ends at the latest.
func until(at, now time.Time) string {
	if left := at.Sub(now); !at.IsZero() && left > 0 {
		return fmt.Sprintf(" for %s at most", left.Round(time.Second))
	}
	return ""
}

// shortList names the first of those for whom units are kept.
func shortList(names []string) string {
	if len(names) == 0 {
		return "others"
	}
	list := strings.Join(names[:min(len(names), 3)], ", ")
	if more := len(names) - 3; more > 0 {
		list += fmt.Sprintf(" and %d others", more)
	}
	return list
}

// mostAsked bounds of how many windows it is looked up whether resources keep them back; of the others it is known from
// the last decision that came to them.
const mostAsked = 64

// keptBack says whether resources keep the jobs of a window from a queue, one of those that the job is compared with.
func (g *gates) keptBack(w *window, q *queue) bool {
	switch {
	case w.shape.asks == nil:
		return false
	case w.shape.unknown:
		return true
	case g.nAsked < mostAsked:
		g.nAsked++
		ok, _ := g.s.bundle(w, q).Explain(g.s.now())
		return !ok
	}
	of := contenders{of: g.s, pool: q.pool, at: q}
	l := g.s.headsAt(w.group, of.headsOf(w.group)).lot(w.shape)
	_, aside := l.aside[w]
	return aside || l.out != nil
}
