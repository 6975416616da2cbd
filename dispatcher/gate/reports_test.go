package gate

import (
	"fmt"
	"testing"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/shares"
)

// A report of what the site does not have, or has in another way, is neither old nor new; it counts again as soon as it is had, unless it is
// too old by then. That follows from the site, the reports and the time, whatever was before: a daemon that starts has not seen it.
func TestReportsOfWhatIsAway(t *testing.T) {
	t.Parallel()
	plain := func(expires time.Duration) shares.Resource {
		return shares.Resource{Name: "licence", Capacity: 10, ExternalExpires: expires}
	}
	perQueue, keyed := plain(time.Minute), plain(time.Minute)
	perQueue.PerQueue, keyed.Keyed = true, true
	site := func(queues []shares.Queue, resources ...shares.Resource) shares.Version {
		return shares.Version{Queues: queues, Resources: resources}
	}
	queues := []shares.Queue{{ID: 1, Name: "q"}}
	has, gone := site(queues, plain(time.Minute)), site(queues)
	long, each := site(queues, plain(time.Hour)), site(queues, perQueue)
	family := site(queues, keyed)
	usable := func(sp *Supplies, key supplyKey) int64 {
		sup := sp.reported(key)
		if sup == nil {
			return -1
		}
		return sup.Book.Usable()
	}
	text := func(sp *Supplies) (s string) {
		sp.Digest(func(values ...any) { s += fmt.Sprintf("%+v\n", values) })
		return s
	}
	for name, c := range map[string]struct {
		of    supplyKey
		sites []shares.Version // one a step, from the second step on
		want  []int64          // usable after each; -1: there is none
	}{
		"expired, away, back":         {supplyKey{"licence", 0}, []shares.Version{has, gone, has}, []int64{10, -1, 10}},
		"expired, away, back longer":  {supplyKey{"licence", 0}, []shares.Version{has, gone, long}, []int64{10, -1, 3}},
		"away at once, back":          {supplyKey{"licence", 0}, []shares.Version{gone, gone, has}, []int64{-1, -1, 10}},
		"away at once, back longer":   {supplyKey{"licence", 0}, []shares.Version{gone, gone, long}, []int64{-1, -1, 3}},
		"one for all queues, then no": {supplyKey{"licence", 0}, []shares.Version{has, each, long}, []int64{10, -1, 3}},
		"of a queue that goes":        {supplyKey{"licence", 1}, []shares.Version{each, site(nil, perQueue), each}, []int64{10, -1, 10}},
		"of a key":                    {supplyKey{"licence:a", 0}, []shares.Version{family, has, family}, []int64{10, -1, 10}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now, saw := start, &Supplies{}
			first := c.sites[0]
			if len(first.Resources) == 0 {
				first = has
			}
			saw.Adopt(first)
			saw.Report(entry.Reported{Name: c.of.ref, Queue: c.of.queue, Total: 5, Used: 2, At: now}, now)
			if got := usable(saw, c.of); got != 3 {
				t.Fatalf("%d usable, want 3", got)
			}
			for i, v := range c.sites {
				saw.Adopt(v)
				now = now.Add(50 * time.Second)
				saw.Look(now)
				if i == 0 {
					now = now.Add(50 * time.Second)
					saw.Look(now)
				}
				began := &Supplies{}
				began.Adopt(v)
				for _, r := range saw.Reports() {
					began.Report(r, now)
				}
				if got := usable(saw, c.of); got != c.want[i] {
					t.Errorf("step %d: %d usable, want %d", i, got, c.want[i])
				}
				if a, b := text(saw), text(began); a != b {
					t.Errorf("step %d: who has seen all has\n%swho starts\n%s", i, a, b)
				}
			}
		})
	}
}
