package explain

import (
	"fmt"
	"strings"
	"time"

	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/dispatcher/resource"
	"github.com/divvyhq/divvy/shares"
)

// shortageWords is a refusal for people.
func shortageWords(why *machine.Shortage, now time.Time) string {
	if why.BuiltIn {
		return ioWords(why, now)
	}
	name := why.Ref
	if why.Queue != "" {
		name += " at " + why.Queue
	}
	who := fmt.Sprintf("%s holds %d", why.ID, why.Held)
	part := fmt.Sprintf("%s, its part is %d", who, why.Allowance)
	if why.Rule == resource.Capacity && why.Need > why.Capacity {
		return fmt.Sprintf("it needs %d units of %s, and there are %d in all: no end of a job helps", why.Need, name, why.Capacity)
	}
	switch why.Rule {
	case resource.Capacity:
		return fmt.Sprintf("%d of %d units of %s are held, it needs %d; %s", why.InUse, why.Capacity, name, why.Need, part)
	case resource.External:
		return fmt.Sprintf("of %d units of %s others use so many outside of this site that %d are left for it, of which %d are held; it needs %d; %s",
			why.Capacity, name, why.Usable, why.InUse, why.Need, part)
	case resource.Reservation:
		return fmt.Sprintf("%d units of %s are free, and kept for a job of %s that was passed over%s; it needs %d",
			why.Free, name, strings.Join(why.KeptFor, ", "), until(why.Until, now), why.Need)
	}
	return fmt.Sprintf("%s of %s, which is its part of %d; %d are free, and kept for %s%s", who, name, why.Usable, why.Free,
		shortList(why.KeptFor), until(why.Until, now))
}

// ioWords is a refusal by the max_io of a queue.
func ioWords(why *machine.Shortage, now time.Time) string {
	most, need := shares.Units(why.Capacity), shares.Units(why.Need)
	switch {
	case why.Rule == resource.Reservation:
		return fmt.Sprintf("max_io of the queue: %s MB/s are free, and kept for a job that was passed over%s; it needs %s",
			shares.Units(why.Free), until(why.Until, now), need)
	case need > most:
		return fmt.Sprintf("max_io of the queue: it needs %s MB/s, and all jobs there may have %s: no end of a job helps", need, most)
	}
	return fmt.Sprintf("max_io of the queue: its jobs have %s of %s MB/s, it needs %s", shares.Units(why.InUse), most, need)
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
