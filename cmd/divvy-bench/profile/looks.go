package profile

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"

	"github.com/google/pprof/profile"
)

// How much mutexes and blocking are looked at while a round is profiled: one contention in so many, and one blocking
// in so many nanoseconds of it. All of them would cost more than what is measured.
const (
	mutexFraction = 20
	blockNanos    = 10_000
)

// Profiler takes profiles of this process, in which the daemon runs, while claims are measured: not while the data set
// is restored. A nil one does nothing.
type Profiler struct {
	dir    string
	now    *bytes.Buffer // the CPU profile that is being taken
	rounds []*profile.Profile
	errs   []error
}

// New writes into a folder; empty: nothing is looked at.
func New(dir string) *Profiler {
	if dir == "" {
		return nil
	}
	return &Profiler{dir: dir}
}

// On begins to look. Pair it with Off.
func (p *Profiler) On() {
	if p == nil {
		return
	}
	p.now = new(bytes.Buffer)
	if err := pprof.StartCPUProfile(p.now); err != nil {
		p.errs, p.now = append(p.errs, err), nil
		return
	}
	runtime.SetMutexProfileFraction(mutexFraction)
	runtime.SetBlockProfileRate(blockNanos)
}

// Off ends what On began.
func (p *Profiler) Off() {
	if p == nil || p.now == nil {
		return
	}
	pprof.StopCPUProfile()
	runtime.SetMutexProfileFraction(0)
	runtime.SetBlockProfileRate(0)
	round, err := profile.Parse(p.now)
	if err != nil {
		p.errs = append(p.errs, err)
	} else {
		p.rounds = append(p.rounds, round)
	}
	p.now = nil
}

// Write makes cpu, mutex and block, each as .pprof and as a flame graph, .svg.
func (p *Profiler) Write() error {
	if p == nil {
		return nil
	}
	if err := errors.Join(p.errs...); err != nil {
		return fmt.Errorf("profile: %w", err)
	}
	if len(p.rounds) == 0 {
		return errors.New("profile: no claims in this process were measured, see S1 and S2")
	}
	if err := os.MkdirAll(p.dir, 0o755); err != nil {
		return fmt.Errorf("profile: %w", err)
	}
	cpu, err := profile.Merge(p.rounds)
	if err != nil {
		return fmt.Errorf("profile: %w", err)
	}
	errs := []error{p.save("cpu", cpu)}
	for _, name := range []string{"mutex", "block"} {
		var text bytes.Buffer
		err := pprof.Lookup(name).WriteTo(&text, 0)
		if err == nil {
			var taken *profile.Profile
			if taken, err = profile.Parse(&text); err == nil {
				err = p.save(name, taken)
			}
		}
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("profile: %w", err)
	}
	return nil
}

func (p *Profiler) save(name string, what *profile.Profile) error {
	var raw, svg bytes.Buffer
	if err := what.Write(&raw); err != nil {
		return err
	}
	flame(what).writeTo(&svg, name)
	at := filepath.Join(p.dir, name)
	return errors.Join(os.WriteFile(at+".pprof", raw.Bytes(), 0o644), os.WriteFile(at+".svg", svg.Bytes(), 0o644))
}
