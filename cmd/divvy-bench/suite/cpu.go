package suite

import (
	"syscall"
	"time"

	"github.com/divvyhq/divvy/cmd/divvy-bench/proc"
)

// used is processor time up to a moment: it moves little with the load of others, which take from rates as they like.
type used struct {
	own      time.Duration // of this process: the bench, and the daemon within it
	programs time.Duration // of programs that it started and that have ended
	postgres time.Duration // of the private cluster; 0 where the server is not ours to look into
}

// used reads the clocks.
func (s *stage) used() used {
	u := used{own: rusage(syscall.RUSAGE_SELF), programs: rusage(syscall.RUSAGE_CHILDREN)}
	if s.place != nil && s.place.process > 0 {
		u.postgres, _ = proc.TreeCPU(s.place.process) // 0 where there is no /proc
	}
	return u
}

// since is what has been used from a moment up to this one.
func (u used) since(from used) used {
	return used{u.own - from.own, u.programs - from.programs, u.postgres - from.postgres}
}

// rusage is the processor time of this process or of those that it waited for.
func rusage(who int) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(who, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// micros is processor time divided among n, in microseconds.
func micros(d time.Duration, n int) float64 { return float64(d) / 1e3 / float64(max(n, 1)) }

// effort is the series of a candidate's processor time a claim, by what could be seen.
func (s *stage) effort(perClaim []float64) Series {
	if s.place != nil && s.place.process > 0 {
		return newSeries("processor time a claim, divvy and PostgreSQL", "us", perClaim)
	}
	return newSeries("processor time a claim, divvy alone", "us", perClaim)
}
