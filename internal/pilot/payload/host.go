package payload

import (
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/divvyhq/divvy/internal/pilot/container"
)

// Config says where jobs run and as which user. All fields are optional.
type Config struct {
	WorkDir  string // the pilot's alone
	KeepWork bool   // keep the files of jobs, not only their logs
	KeepLogs int    // folders of ended jobs to keep, the oldest go; negative = none
	// Alone: this process is a pilot and nothing else, so all its children are those of jobs. What these leave running is then killed
	// with them, wherever it hides.
	Alone bool
	User  string   // that jobs run as; empty means the pilot's user. Another one takes root.
	Guard []string // command that runs Guard with its last argument as the mark; empty = no guard
}

// Owner is the pilot whose jobs a Host runs.
type Owner struct {
	Name, Queue string
	Slots       int // jobs at once
	Log         *slog.Logger
	Timing      Timing
}

// Timing is what tests make short.
type Timing struct {
	Grace       time.Duration // SIGTERM to SIGKILL at the walltime limit
	MemoryGrace time.Duration // the same at the memory limit: short, for the machine's sake
	Sample      time.Duration // between two measurements of memory and CPU
}

// Host runs jobs of one pilot. Its methods may be called from many goroutines.
type Host struct {
	cfg     Config
	owner   Owner
	mark    string // of all processes of this Host, random
	files   *workDir
	starter *starter
	meter   *meter
	guard   *guard
	kin     *kin
	cgroups *cgroups
	waits   sync.WaitGroup
	asked   asked
}

// Open takes the work folder and starts what watches over jobs.
func Open(cfg Config, owner Owner) (_ *Host, err error) {
	h := &Host{cfg: cfg, owner: owner, mark: rand.Text(), asked: asked{means: map[string]container.Means{}}}
	if h.files, err = openWorkDir(cfg.WorkDir, cfg.KeepLogs); err != nil {
		return nil, fmt.Errorf("work folder: %w", err)
	}
	defer func() {
		if err != nil {
			h.guard.close()
			h.files.close()
		}
	}()
	if h.files.user, err = lookUpUser(cfg.User); err == nil {
		err = h.files.user.enter(h.files.root)
	}
	if err != nil {
		return nil, fmt.Errorf("payload user: %w", err)
	}
	if err := h.files.stock(owner.Slots); err != nil {
		return nil, fmt.Errorf("work folder: %w", err)
	}
	if cfg.Alone {
		h.cgroups = cgroupsOr(owner.Log) // before the guard: the kernel wants no process beside the groups
	}
	if h.guard, err = startGuard(cfg.Guard, h.mark, owner.Log); err != nil {
		return nil, fmt.Errorf("guard: %w", err)
	}
	if cfg.Alone {
		if h.kin, err = newKin(h.guard, h.mark); err != nil {
			return nil, err
		}
	}
	h.starter, h.meter = newStarter(), newMeter(owner.Timing.Sample)
	return h, nil
}

// cgroupsOr says in the log why jobs are not held to their cores.
func cgroupsOr(log *slog.Logger) *cgroups {
	c, err := openCgroups(log)
	if err == nil {
		err = c.try()
	}
	if err != nil {
		log.Info("jobs are not held to their cores, and to their memory by measurement alone", "why", err)
		return nil
	}
	log.Info("jobs are held to their cores and memory", "cgroup", c.dir)
	return c
}

// Close ends what Open started. All jobs have ended before.
func (h *Host) Close() {
	h.waits.Wait()
	h.starter.close()
	h.meter.close()
	h.kin.close()
	h.guard.close()
	h.files.close()
}

// Root is the work folder.
func (h *Host) Root() string { return h.files.root }

// Tidy removes what a job left and makes ready for the next one.
func (h *Host) Tidy(j *Job) {
	if j.pid != 0 {
		reapGroup(j.pid)
		h.kin.clear(j)
	}
	for _, f := range j.streams {
		_ = f.Close() // one that was never opened, or is closed already, says so
	}
	err := h.files.stock(h.owner.Slots)
	if j.dir != "" {
		err = errors.Join(err, h.files.done(j.dir, h.cfg.KeepWork))
	}
	if err != nil {
		h.owner.Log.Warn("work folder", "job", j.lease.Job, "error", err)
	}
}
