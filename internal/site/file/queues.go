package file

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/divvyhq/divvy/internal/site/strict"
	"github.com/divvyhq/divvy/shares"
)

// queueSpec is a queue of the file, and the name that it had before.
type queueSpec struct {
	shares.Queue
	was    string
	pilots []string // nil = every pilot
	seen   strict.Seen
}

// maxAmount bounds every count of the file, so that sums of thousandths stay exact.
const maxAmount = 1_000_000_000

func readQueues(v strict.Value) []queueSpec {
	list, _ := v.List()
	if len(list) > maxQueues {
		tooMany(v, len(list), maxQueues)
		return nil
	}
	queues := make([]queueSpec, 0, len(list))
	names := map[string]int{}
	for _, e := range list {
		q := readQueue(e)
		queues = append(queues, q)
		if q.Name == "" {
			continue
		}
		if line, dup := names[q.Name]; dup {
			q.seen.At("name").Fail(fmt.Sprintf("queue %q is given twice", q.Name), fmt.Sprintf("first in line %d", line))
			continue
		}
		names[q.Name] = q.seen.At("name").Line()
	}
	checkFormerNames(queues)
	return queues
}

func readQueue(v strict.Value) queueSpec {
	q := queueSpec{Queue: shares.Queue{Pool: DefaultPool, State: shares.Online, CorePowerMilli: 1000}}
	q.seen = v.Mapping(strict.Fields{
		"name":  func(v strict.Value) { q.Name = readQueueName(v) },
		"was":   func(v strict.Value) { q.was = readQueueName(v) },
		"pool":  func(v strict.Value) { q.Pool = readPoolName(v) },
		"slots": func(v strict.Value) { q.Slots = readSlots(v) },
		"core_power": func(v strict.Value) {
			if m, ok := v.Milli(); ok && m == 0 {
				v.Fail("core_power is zero", "leave it out for 1; use slots: 0 to run nothing")
			} else if ok {
				q.CorePowerMilli = bounded(v, m, 1_000_000)
			}
		},
		"cores": func(v strict.Value) {
			n, _ := v.Int(1, maxAmount)
			q.Cores = int(n)
		},
		"memory_mb": func(v strict.Value) { q.MemoryMB, _ = v.Int(1, maxAmount) },
		"disk_mb":   func(v strict.Value) { q.DiskMB, _ = v.Int(1, maxAmount) },
		"walltime": func(v strict.Value) {
			d, _ := v.Duration(time.Second)
			q.WalltimeS = int64(d / time.Second)
		},
		"max_io":       func(v strict.Value) { q.MaxIO = readIO(v) },
		"labels":       func(v strict.Value) { q.Labels = readLabels(v) },
		"prefer":       func(v strict.Value) { q.Prefer, _ = v.OneOf("wide") },
		"locations":    func(v strict.Value) { q.Locations = readLocations(v) },
		"allow_shares": func(v strict.Value) { q.AllowShares = readSharePatterns(v) },
		"deny_shares":  func(v strict.Value) { q.DenyShares = readSharePatterns(v) },
		"pilots":       func(v strict.Value) { q.pilots = readPilots(v) },
		"state": func(v strict.Value) {
			v.Fail("the state of a queue is not part of the site file", "use divvy queue drain|online "+q.Name)
		},
	})
	q.seen.Require("name")
	return q
}

// bounded reports a figure in thousandths that is above most units.
func bounded(v strict.Value, milli, most int64) int64 {
	if milli > most*1000 {
		v.Failf("%s is more than %d", v.Name(), most)
		return 0
	}
	return milli
}

// readIO reads MB/s as kB/s.
func readIO(v strict.Value) int64 {
	m, ok := v.Milli()
	if ok && m == 0 {
		v.Fail("max_io is zero", "leave it out for no bound; deny_shares keeps work away")
		return 0
	}
	return bounded(v, m, shares.MaxResourceUnits/1000)
}

func readSlots(v strict.Value) *int {
	n, ok := v.Int(0, min(maxAmount, math.MaxInt32))
	if !ok {
		return nil
	}
	slots := int(n)
	return &slots
}

// readQueueName takes names that can stand in a URL and beside globs and label selectors in a task's queues.
func readQueueName(v strict.Value) string {
	return readName(v, "/*?[]=!, \"'", "a queue's name stands in addresses and beside globs and label selectors")
}

// readPoolName takes names that can stand as a key of per-pool figures.
func readPoolName(v strict.Value) string {
	return readName(v, "/*?[]=!, \"'", "for instance cpu or gpu")
}

func readName(v strict.Value, banned, hint string) string {
	s, ok := v.NonEmpty()
	switch {
	case !ok:
		return ""
	case len(s) > maxName:
		v.Failf("%s has more than %d letters", v.Name(), maxName)
		return ""
	case strings.ContainsAny(s, banned):
		c := s[strings.IndexAny(s, banned)]
		v.Fail(fmt.Sprintf("%s %q contains %q", v.Name(), s, string(c)), hint)
		return ""
	case strings.TrimSpace(s) != s:
		v.Failf("%s %q begins or ends with a space", v.Name(), s)
		return ""
	case strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }):
		v.Failf("%s %q contains a control character", v.Name(), s)
		return ""
	}
	return s
}

func readLabels(v strict.Value) map[string]string {
	labels, _ := v.StringMap()
	if len(labels) == 0 {
		return nil
	}
	return labels
}

// checkFormerNames refuses two queues that both were the same one.
func checkFormerNames(queues []queueSpec) {
	was := map[string]string{}
	for _, q := range queues {
		if q.was == "" {
			continue
		}
		if other, dup := was[q.was]; dup {
			q.seen.At("was").Failf("queue %q already was %q", other, q.was)
		}
		was[q.was] = q.Name
	}
}
