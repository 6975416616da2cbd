package pilot

import (
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/divvyhq/divvy/internal/pilot/payload"
)

// Config says where a pilot belongs and what it offers. Client, Queue and Slots are required.
type Config struct {
	Client Client
	Queue  string
	Name   string // unique in the site; default host-random
	Node   string // default the host's name
	Labels map[string]string

	Devices []string // ids of devices that its jobs may use, as gpu:0: what stands before the colon is the kind

	Slots    int   // jobs at once
	Cores    int   // all together; default Slots
	MemoryMB int64 // all together; 0 = the queue's figure counts
	DiskMB   int64 // all together; 0 = the queue's figure counts

	MaxJobs int           // drain after so many jobs; 0 = no end
	MaxIdle time.Duration // drain after so long without a job; 0 = no end

	Until       time.Time     // when the batch system ends the pilot: what is left until then is offered; zero = never
	DrainWithin time.Duration // when it was told to leave jobs may go on so long; 0 = as long as they like

	// Payload: its WorkDir is by default a folder of the pilot's name in the system's temporary folder, KeepLogs 200.
	Payload payload.Config

	Logs string // where whole logs of ended jobs are kept, see package archive; empty = nowhere

	Kill <-chan struct{} // closed: kill what runs, give it back
	Log  *slog.Logger    // default: nothing is logged

	timing timing
}

// timing is what tests make short.
type timing struct {
	Poll     time.Duration // long poll; jittered up to 5/4 of it
	Call     time.Duration // bound of a call, a poll's wait not counted
	Pause    time.Duration // first pause after a failed call
	MaxPause time.Duration
	Gather   time.Duration // longest wait for polls that end together
	Renew    time.Duration // until the server says how often
	Doubt    time.Duration // longest wait of the result of a job that a SIGTERM ended
	payload.Timing
}

var usualTiming = timing{
	Poll:     20 * time.Second,
	Call:     15 * time.Second,
	Pause:    200 * time.Millisecond,
	MaxPause: 15 * time.Second,
	Gather:   250 * time.Millisecond,
	Renew:    60 * time.Second,
	Doubt:    1500 * time.Millisecond,
	Timing:   payload.Timing{Grace: 10 * time.Second, MemoryGrace: 2 * time.Second, Sample: 200 * time.Millisecond},
}

// complete checks c and fills in the defaults.
func (c Config) complete() (Config, error) {
	var errs []error
	need := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	need(c.Client != nil, "client: missing")
	need(c.Queue != "", "queue: missing")
	need(c.Slots >= 1 && c.Slots <= 1000, "slots: %d is not within 1 … 1000", c.Slots)
	need(c.Cores >= 0, "cores: %d is negative", c.Cores)
	need(c.MemoryMB >= 0, "memory: %d MB is negative", c.MemoryMB)
	need(c.DiskMB >= 0, "disk: %d MB is negative", c.DiskMB)
	need(c.MaxJobs >= 0, "max jobs: %d is negative", c.MaxJobs)
	need(c.MaxIdle >= 0, "max idle: %s is negative", c.MaxIdle)
	need(c.Until.IsZero() || time.Until(c.Until) > 0, "until: %s is over", c.Until.Format(time.RFC3339))
	need(c.DrainWithin >= 0, "drain within: %s is negative", c.DrainWithin)
	need(!strings.ContainsAny(c.Name, "/\x00"), "name: %q has a slash", c.Name)
	if err := errors.Join(errs...); err != nil {
		return c, fmt.Errorf("pilot: %w", err)
	}
	if c.Node == "" {
		c.Node, _ = os.Hostname()
	}
	if c.Name == "" {
		c.Name = fmt.Sprintf("%s-%s", c.Node, strings.ToLower(rand.Text()[:6]))
	}
	if c.Cores == 0 {
		c.Cores = c.Slots
	}
	if c.Payload.WorkDir == "" {
		c.Payload.WorkDir = filepath.Join(os.TempDir(), fmt.Sprintf("divvy-pilot-%d", os.Geteuid()), c.Name)
	}
	if c.Payload.KeepLogs == 0 {
		c.Payload.KeepLogs = 200
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.timing == (timing{}) {
		c.timing = usualTiming
	}
	return c, nil
}
