package taskspec

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/internal/site"
)

// retryable are the parameters that may be others for a retry; with the rest it would be another task.
var retryable = []string{"coreCount", "excludedSite", "includedSite", "maxAttempt", "maxWalltime", "ramCount", "ramCountUnit", "ramUnit", "site",
	"taskPriority", "walltime", "walltimeUnit", "workDiskCount", "workDiskUnit"}

// ChangesOf makes changes of parameters; the error names every one that is wrong.
func ChangesOf(given map[string]any, st *site.Site, s *spec.Spec) (*spec.Changes, error) {
	t := &translation{in: Reading{Left: maps.Clone(given)}, site: st, spec: spec.Spec{Queues: s.Queues}}
	said := func(names ...string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return given[name] != nil })
	}
	c := &spec.Changes{}
	if said("site", "includedSite", "excludedSite") { // before walltime, which they bound
		t.places()
		c.Queues = &t.spec.Queues
	}
	cores := max(s.Requirements.Cores, 1)
	if said("coreCount") {
		cores = max(int(t.in.whole("coreCount", 0)), 1)
		c.Cores = &cores
	}
	if said("ramCount") {
		c.MemoryMB = new(t.memory(max(cores, 1)))
	}
	if said("workDiskCount") {
		c.DiskMB = new(t.disk())
	}
	if said("walltime", "maxWalltime") {
		c.Walltime = new(t.walltime(cores))
	}
	if said("maxAttempt") {
		c.MaxAttempts = new(int(t.in.whole("maxAttempt", 1)))
	}
	if said("taskPriority") {
		c.Priority = new(int(t.in.whole("taskPriority", -1<<40)))
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !slices.Contains(retryable, name) {
			t.in.fault(name, "a task keeps it; submit another one")
		}
	}
	if len(t.in.faults) > 0 {
		return nil, fmt.Errorf("%w: new_parameters: %s", spec.ErrInvalid, strings.Join(t.in.faults, "; "))
	}
	return c, nil
}
