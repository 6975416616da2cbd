package job

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/divvyhq/divvy/shares"
)

// nowhere begins every reason of Nowhere.
const nowhere = "no queue can run it; "

// Nowhere says why no queue of a site can run jobs with these requirements for a share, by what the site says, however
// long they wait; "" when one can. Queues that are offline or drained count as online: they come back. An empty share is one
// that is not known yet. Where one requirement rules out every queue it is named alone, else the reason of each queue.
func Nowhere(v shares.Version, r Requirements, share string) string {
	v.Queues = slices.Clone(v.Queues)
	for i := range v.Queues {
		if q := &v.Queues[i]; q.State == shares.Drain || q.State == shares.Offline {
			q.State = shares.Online
		}
	}
	if reason := beyondSite(v, r); reason != "" {
		return nowhere + reason
	}
	perQueue := ""
	for i, q := range v.Queues {
		reason := cmp.Or(Fits(r, q, q.Labels), beyondQueue(v, r, q))
		if reason == "" && share != "" {
			reason = ClosedTo(q, share)
		}
		switch {
		case reason == "":
			return ""
		case i < mostNamed:
			perQueue += fmt.Sprintf("; %s: %s", q.Name, reason)
		case i == mostNamed:
			perQueue += fmt.Sprintf("; and %d more queues", len(v.Queues)-i)
		}
	}
	switch {
	case len(v.Queues) == 0:
		return nowhere + "the site has none"
	case !slices.ContainsFunc(v.Queues, func(q shares.Queue) bool { return selects(r.Queues, q) }):
		return nowhere + fmt.Sprintf("queues: none is meant by %s, the site has %s", someOf(r.Queues), someOf(queueNames(v.Queues)))
	case len(v.Queues) > 1:
		if reason := beyondAll(v.Queues, r); reason != "" {
			return nowhere + reason
		}
	}
	return nowhere + perQueue[2:]
}

// beyondSite is why a resource that the whole site shares can never be had.
func beyondSite(v shares.Version, r Requirements) string {
	for ref, units := range r.Units() {
		of, ok := v.Resource(ref)
		if !ok {
			return fmt.Sprintf("%s: the site has %s", v.NoResource(ref), v.ResourceNames())
		}
		_, key := shares.CutResource(ref)
		if most := of.CapacityAt(key, ""); !of.PerQueue && units > most {
			return fmt.Sprintf("resources: needs %d units of %s, the site has %d", units, ref, most)
		}
	}
	return ""
}

// beyondQueue is why a resource of which every queue has its own can never be had at one.
func beyondQueue(v shares.Version, r Requirements, q shares.Queue) string {
	for ref, units := range r.Units() {
		of, ok := v.Resource(ref)
		if !ok || !of.BoundAt(q.Name) {
			continue
		}
		_, key := shares.CutResource(ref)
		switch most := of.CapacityAt(key, q.Name); {
		case units <= most:
		case of.BuiltIn():
			return fmt.Sprintf("max_io: needs %s MB/s, queue allows %s", shares.Units(units), shares.Units(most))
		default:
			return fmt.Sprintf("resources: needs %d units of %s, queue has %d", units, ref, most)
		}
	}
	return ""
}

// beyondAll is the one requirement that none of the queues meets, whatever else they allow; "" where it is not one alone.
func beyondAll(queues []shares.Queue, r Requirements) string {
	none := func(meets func(q shares.Queue) bool) bool { return !slices.ContainsFunc(queues, meets) }
	if r.Containers && none(func(q shares.Queue) bool { return q.Containers != "" }) {
		return needsContainers + "; none has containers in the site file"
	}
	for _, name := range slices.Sorted(maps.Keys(r.Labels)) {
		if want := r.Labels[name]; none(func(q shares.Queue) bool { return q.Labels[name] == want }) {
			return fmt.Sprintf("label %s: needs %q, no queue has it", name, want)
		}
	}
	for _, of := range []struct {
		name  string
		needs int64
		most  func(shares.Queue) int64 // 0: no bound
	}{
		{"cores", int64(r.Cores), mostCores},
		{"memory_mb", r.MemoryMB, func(q shares.Queue) int64 { return q.MemoryMB }},
		{"disk_mb", r.DiskMB, func(q shares.Queue) int64 { return q.DiskMB }},
		{"walltime_s", r.WalltimeS, func(q shares.Queue) int64 { return q.WalltimeS }},
	} {
		var most int64
		if none(func(q shares.Queue) bool {
			most = max(most, of.most(q))
			return of.most(q) == 0 || of.needs <= of.most(q)
		}) {
			return fmt.Sprintf("%s: needs %d, no queue allows more than %d", of.name, of.needs, most)
		}
	}
	return ""
}

func queueNames(queues []shares.Queue) (names []string) {
	for _, q := range queues {
		names = append(names, q.Name)
	}
	return names
}

func mostCores(q shares.Queue) int64 {
	if q.Slots != nil && (q.Cores == 0 || *q.Slots < q.Cores) {
		return int64(max(*q.Slots, 1))
	}
	return int64(q.Cores)
}

// ClosedTo says which entry of a queue keeps a share out; "" when none does.
func ClosedTo(q shares.Queue, share string) string {
	if q.Runs(share) {
		return ""
	}
	for _, pattern := range q.DenyShares {
		if shares.PatternMeans(pattern, share) {
			return fmt.Sprintf("share: the queue denies %s", pattern)
		}
	}
	return "share: the queue allows only " + someOf(q.AllowShares)
}
