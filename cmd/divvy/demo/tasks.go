package demo

import (
	_ "embed"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"github.com/divvyhq/divvy/api/wire"
)

// Site is the site file of the demo.
//
//go:embed site.yml
var Site []byte

// Leaves of Site in the order of the file, for everything that lists them.
var Leaves = []string{"Production/MC", "Production/Rep", "Production/Val", "Analysis/User", "Analysis/Grp", "Test"}

// queue is the one of Site.
const queue = "LOCAL"

// lateLeaf has no work in the first half of the window; lateParent is where its slots go meanwhile.
const (
	lateLeaf   = "Production/MC"
	lateParent = "Production"
)

// Lengths of a job: a real process over real files may be done in 20 ms; it naps until at least this long, so
// that two cores carry eight slots and the figures are about sharing, not about the machine.
const (
	shortestJob = 500 * time.Millisecond
	spreadOfJob = 400 * time.Millisecond
)

// activity is one task of the demo.
type activity struct {
	leaf, name, user, does string
	most                   int           // jobs; 0 = enough for the whole window
	spec                   wire.TaskSpec // attributes that the tagging rules see
}

var activities = []activity{
	{"Production/MC", "mc-evgen", "prodsys", Count, 0, wire.TaskSpec{Label: "managed", ProcessingType: "evgen", WorkingGroup: "AP_MCGN", Priority: 900}},
	{"Production/Rep", "reprocessing-2026", "prodsys", Compress, 0, wire.TaskSpec{Label: "managed", ProcessingType: "reprocessing", WorkingGroup: "AP_REPR", Priority: 800}},
	{"Production/Val", "validation", "prodsys", Checksum, 0, wire.TaskSpec{Label: "managed", ProcessingType: "validation", WorkingGroup: "AP_VALI", Priority: 800}},
	{"Analysis/User", "ntuples", "alice", Count, 0, wire.TaskSpec{Label: "user", Priority: 100}},
	{"Analysis/User", "skim", "bob", Compress, 12, wire.TaskSpec{Label: "user", Priority: 200}},
	{"Analysis/Grp", "higgs-group", "carol", Compress, 0, wire.TaskSpec{Label: "user", WorkingGroup: "GP_HIGG", Priority: 100}},
	{"Test", "nightly", "tester", Checksum, 0, wire.TaskSpec{Label: "ptest", Priority: 0}},
}

// task is the activity as a task over folders, whose jobs leave their outputs below outputs.
func (a activity) task(binary, outputs string, folders []string) wire.TaskSpec {
	s := a.spec
	s.Name, s.User = a.name, a.user
	s.Requirements = wire.TaskRequirements{Cores: 1, MemoryMB: 200, DiskMB: 100, Walltime: "5m"}
	if a.most > 0 {
		folders = folders[:min(a.most, len(folders))]
	}
	s.Inputs, s.PerJob = wire.Named(folders...), 1
	s.Command = []string{binary, "payload", a.does, "--out", filepath.Join(outputs, a.name, "{{.Index}}.json"), "--index", "{{.Index}}", "{{.Input}}"}
	s.MaxAttempts = 2
	return s
}

// AtLeast is how long the job with this index takes at the least. Lengths differ, so that slots come free one
// by one and not in step.
func AtLeast(index string) (time.Duration, error) {
	i, err := strconv.ParseUint(index, 10, 63)
	if err != nil {
		return 0, fmt.Errorf("index %q is not a number", index)
	}
	const steps = 41
	return shortestJob + time.Duration(i*17%steps)*spreadOfJob/(steps-1), nil
}

// inputsFor repeats folders until there are enough for a task that has all slots for that long.
func inputsFor(folders []string, slots int, long time.Duration) []string {
	n := slots * int(long/shortestJob+1)
	out := make([]string, n)
	for i := range out {
		out[i] = folders[i%len(folders)]
	}
	return out
}
