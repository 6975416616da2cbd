package stage

import (
	"syscall"
	"time"

	"github.com/divvyhq/divvy/cmd/divvy-bench/proc"
)

// Used is processor time up to a moment: it moves little with the load of others, which take from rates as they like.
type Used struct {
	Own      time.Duration // of this process: the bench, and the daemon within it
	Programs time.Duration // of programs that it started and that have ended
	Postgres time.Duration // of the private cluster; 0 where the server is not ours to look into
}

// Used reads the clocks.
func (p *Place) Used() Used {
	u := Used{Own: rusage(syscall.RUSAGE_SELF), Programs: rusage(syscall.RUSAGE_CHILDREN)}
	if p.Process > 0 {
		u.Postgres, _ = proc.TreeCPU(p.Process) // 0 where there is no /proc
	}
	return u
}

// Since is what has been used from a moment up to this one.
func (u Used) Since(from Used) Used {
	return Used{u.Own - from.Own, u.Programs - from.Programs, u.Postgres - from.Postgres}
}

// rusage is the processor time of this process or of those that it waited for.
func rusage(who int) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(who, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// Micros is processor time divided among n, in microseconds.
func Micros(d time.Duration, n int) float64 { return float64(d) / 1e3 / float64(max(n, 1)) }

// Effort names the series of processor time a claim, by what can be seen.
func (p *Place) Effort() string {
	if p.Process > 0 {
		return "processor time a claim, divvy and PostgreSQL"
	}
	return "processor time a claim, divvy alone"
}
