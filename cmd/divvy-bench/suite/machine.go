package suite

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
)

// machine is what the figures were measured on; the load of the others comes first.
func machine(when string) []Setting {
	facts := []Setting{{"load average " + when, loadAverage()}}
	facts = append(facts, Setting{"CPUs", fmt.Sprintf("%d (GOMAXPROCS %d), %s", runtime.NumCPU(), runtime.GOMAXPROCS(0), field("/proc/cpuinfo", "model name"))},
		Setting{"memory", field("/proc/meminfo", "MemTotal")}, Setting{"Go", runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH})
	return facts
}

func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if f := strings.Fields(string(text)); err == nil && len(f) > 2 {
		return strings.Join(f[:3], " ")
	}
	return "unknown"
}

// busy says whether others take more than a quarter of the machine.
func busy() bool {
	last, err := strconv.ParseFloat(strings.Fields(loadAverage())[0], 64)
	return err == nil && last > float64(runtime.NumCPU())/4
}

// field is the first value of a "name : value" file of the kernel.
func field(file, name string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return "unknown"
	}
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}

// ownSettings are those of the data set and the daemon.
func (s *stage) ownSettings() []Setting {
	looked := "no"
	if s.profile != nil {
		looked = "yes, which costs some per cent of the rates"
	}
	return []Setting{
		{"profiled", looked},
		{"server", s.place.server},
		{"data", fmt.Sprintf("%d ready, %d held, 100 shares in 3 levels, 20 queues, 4 shapes", s.Ready, s.Held)},
		{"rounds", fmt.Sprintf("%d of %s, floor and candidate in turn", s.Rounds, s.Round)},
		{"refills", s.refills()},
		{"growth (S5, S9)", s.growthSetting()},
		{"pullers", fmt.Sprintf("%d, one job a pull, request ids: %t", s.Pullers, s.RequestIDs)},
		{"snapshot (S6)", fmt.Sprintf("%d claims under it, in slices of %d", s.Snapshot, s.slice())},
		{"renewals (S7)", fmt.Sprintf("%d leases held, %d of them renewed, %d a second", max(s.Held, s.Renewed), s.Renewed, renewPace)},
		{"written with every claim", "a part of a batch of the log; every second, out of it: leases that last, history of attempts in the partition of the day, counts of shares and tasks, what attempts cost by hour, day and task. Decisions are replayed out of the log"},
	}
}

// refills says how far the ready jobs may have gone when a round begins.
func (s *stage) refills() string {
	if s.Brief {
		return "when a quarter of the ready jobs has gone"
	}
	return "after every round"
}
