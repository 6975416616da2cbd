package taskspec

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/divvyhq/divvy/api/panda/wire"
	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/internal/site"
	"github.com/divvyhq/divvy/shares"
)

// Ignored is a task parameter that changes nothing here, and why.
type Ignored struct {
	Parameter string `json:"parameter"`
	Reason    string `json:"reason"`
}

// translation is what PanDA's task parameters come to.
type translation struct {
	in   Reading
	spec spec.Spec
	site *site.Site
	fits bool // nothing but CPU time or scouts says how many events a job has

	runGen bool // a task of prun, whose jobs run by runGen

	wallParam string   // what the walltime of jobs follows from, where that is not walltime
	shared    []string // files that each job gets, of a task that is split by events
	offset    int64    // of the item of jobParameters that is read
}

// TaskTexts are the parameters that become attributes of the task as they are.
var TaskTexts = map[string]func(*spec.Spec) *string{
	"taskName":        func(s *spec.Spec) *string { return &s.Name },
	"userName":        func(s *spec.Spec) *string { return &s.User },
	"vo":              func(s *spec.Spec) *string { return &s.VO },
	"prodSourceLabel": func(s *spec.Spec) *string { return &s.Label },
	"processingType":  func(s *spec.Spec) *string { return &s.ProcessingType },
	"workingGroup":    func(s *spec.Spec) *string { return &s.WorkingGroup },
	"campaign":        func(s *spec.Spec) *string { return &s.Campaign },
	"transPath":       func(s *spec.Spec) *string { return &s.Transformation },
	"gshare":          func(s *spec.Spec) *string { return &s.Share },
}

// paramOf is what a field of a Spec is called in task parameters, for faults; a longer field has the name of the
// longest that it begins with.
var paramOf = map[string]string{
	"name": "taskName", "user": "userName", "vo": "vo", "label": "prodSourceLabel", "processing_type": "processingType",
	"working_group": "workingGroup", "campaign": "campaign", "transformation": "transPath", "share": "gshare", "priority": "taskPriority",
	"labels": "taskType", "max_attempts": "maxAttempt", "max_failures": "maxFailure", "requirements.cores": "coreCount", "requirements.memory_mb": "ramCount",
	"io_intensity": "ioIntensity", "requirements.disk_mb": "outDiskCount", "requirements.walltime": "walltime", "queues": "site", "command": "jobParameters",
	"count": "nFiles", "inputs": "pfnList", "per_job": "nFilesPerJob", "events": "nEvents", "events.per_job": "nEventsPerJob",
	"scout": "useScout", "split": "nEventsPerJob", "split.cpu_s_per_event": "cpuTime", "split.base_walltime": "baseWalltime", "split.output_mb_per_event": "outDiskCount",
	"split.work_mb": "workDiskCount", "split.efficiency": "cpuEfficiency",
}

// WhyNot are the reasons of parameters that are known and cannot be honoured.
var WhyNot = map[string]string{
	"nGBPerJob":              "jobs are not split by size: how large inputs are is not known here",
	"log":                    "no log file is stored; the end of what a payload writes comes with its end: divvy job logs",
	"nEventsPerInputFile":    "how many events are in a file is not used here: say nFilesPerJob",
	"scoutSuccessRate":       "a scout that fails all its attempts stops the task",
	"uniqueTaskName":         "task names need not be unique",
	"nMaxFilesPerJob":        "jobs have nFilesPerJob files each",
	"nFilesPerGBPerJob":      "jobs are not split by size: how large inputs are is not known here",
	"tgtMaxOutputForNG":      "jobs are not split by size: how large outputs will be is not known here",
	"cloud":                  "tasks are not bound to a cloud: any queue that fits takes their jobs",
	"nucleus":                "tasks are not bound to a nucleus: any queue that fits takes their jobs",
	"currentPriority":        "the priority of a task is its taskPriority",
	"jediTaskID":             "the id is given here",
	"architecture":           "queues are not chosen by it: say site, or give queues labels",
	"container_name":         "the transformation has to start the container",
	"maxCoreCount":           "a job has coreCount cores",
	"minRamCount":            "memory is ramCount",
	"inFilePosEvtNum":        "events are numbered from 0",
	"noLoopingCheck":         "jobs are ended by walltime only",
	"disableAutoRetry":       "a job has maxAttempt attempts",
	"mergeOutput":            "outputs are not merged",
	"allowIncompleteInDS":    "there is no catalogue of datasets here",
	"allowEmptyInput":        "there is no catalogue of datasets here",
	"taskBrokerOnMaster":     NoBroker,
	"disableReassign":        NoBroker,
	"brokerage":              NoBroker,
	"skipShortInput":         "there is no catalogue of datasets here",
	"waitInput":              "there is no catalogue of datasets here",
	"respectSplitRule":       "splitting is by nFilesPerJob or nEventsPerJob, always",
	"parentTaskName":         noParents,
	"noWaitParent":           noParents,
	"getNumEventsInMetadata": "how many events are in a file is not used here",
}

const (
	noParents  = "only tasks submitted to the native API wait for others: needs"
	NoBroker   = "tasks are not brokered: any queue that fits takes their jobs"
	NotUsed    = "not used here"
	NoCatalog  = "there is no catalogue of datasets here"
	maxListing = 20  // queues or shares in a message
	maxFaults  = 100 // things wrong with parameters
	maxIgnored = 500
)

// Translate makes a Spec of task parameters, for the site in force. The error names every parameter that is wrong.
func Translate(given map[string]any, st *site.Site) (spec.Spec, []Ignored, error) {
	t := &translation{in: Reading{Left: maps.Clone(given)}, site: st}
	for _, name := range slices.Sorted(maps.Keys(TaskTexts)) {
		*TaskTexts[name](&t.spec) = t.in.text(name)
	}
	for _, name := range []string{"taskName", "userName"} {
		if wire.Absent(given[name]) {
			t.in.fault(name, "is missing")
		}
	}
	if kind := t.in.text("taskType"); kind != "" {
		t.spec.Labels = map[string]string{"taskType": kind}
	}
	t.spec.Priority = int(t.in.whole("taskPriority", -1<<40))
	t.spec.MaxAttempts = int(t.in.whole("maxAttempt", 1))
	if n := int(t.in.whole("maxFailure", 0)); t.spec.MaxAttempts == 0 || n < t.spec.MaxAttempts {
		t.spec.MaxFailures = n // else maxAttempt bounds them
	}
	t.client()
	t.share()
	t.scouts()
	t.work()
	t.command()
	t.places()
	t.needs()
	t.in.rest()
	if len(t.in.faults) == 0 {
		t.check()
	}
	if len(t.in.faults) > 0 {
		return spec.Spec{}, nil, errors.New(strings.Join(t.in.faults, "; "))
	}
	return t.spec, t.in.ignored, nil
}

// check has the Spec checked, and calls what is wrong by the names that the caller knows.
func (t *translation) check() {
	var faults spec.Faults
	errors.As(t.spec.Check(), &faults)
	for _, f := range faults {
		field := f.Field
		for paramOf[field] == "" && field != "" {
			field = field[:max(strings.LastIndexAny(field, ".["), 0)]
		}
		if f.Field = cmp.Or(paramOf[field], f.Field); f.Field == "walltime" {
			f.Field = cmp.Or(t.wallParam, f.Field)
		}
		t.in.faults = append(t.in.faults, f.String())
	}
}

// share finds the leaf that gshare means.
func (t *translation) share() {
	if t.spec.Share == "" {
		return
	}
	found, err := LeafNamed(t.site, t.spec.Share)
	if err != nil {
		t.in.fault("gshare", "%s", err)
		return
	}
	t.spec.Share = found
}

// LeafNamed is the path of the leaf with a path, or with a name that no other leaf has: PanDA's shares have names only.
func LeafNamed(st *site.Site, name string) (string, error) {
	var leaves, found []string
	for _, i := range st.Tree.Leaves() {
		n := st.Tree.Nodes[i]
		leaves = append(leaves, n.Path)
		switch name {
		case n.Path:
			return name, nil
		case n.Name:
			found = append(found, n.Path)
		}
	}
	switch len(found) {
	case 0:
		return "", fmt.Errorf("there is no leaf share %q (leaves: %s)", name, listed(leaves))
	case 1:
		return found[0], nil
	}
	return "", fmt.Errorf("several shares are called %q: say which of %s", name, listed(found))
}

// listed is a list for a message.
func listed(words []string) string {
	if len(words) > maxListing {
		return strings.Join(words[:maxListing], ", ") + fmt.Sprintf(" and %d more", len(words)-maxListing)
	}
	return strings.Join(words, ", ")
}

// anySite stands for no choice of a queue.
const anySite = "AUTO"

// places finds the queues that the task may run at. With excludedSite they are the others of today: queues that are added
// later are none of them.
func (t *translation) places() {
	var chosen []string
	for _, name := range []string{"site", "includedSite"} {
		wanted := slices.DeleteFunc(t.in.Names(name), func(q string) bool { return q == anySite })
		t.known(name, wanted)
		chosen = append(chosen, wanted...)
	}
	excluded := t.in.Names("excludedSite")
	t.known("excludedSite", excluded)
	slices.Sort(chosen)
	t.spec.Queues = slices.Compact(chosen)
	if len(excluded) == 0 || len(t.in.faults) > 0 {
		return
	}
	var left []string
	for _, q := range t.site.Queues {
		if (len(chosen) == 0 || means(chosen, q.Name)) && !means(excluded, q.Name) {
			left = append(left, q.Name)
		}
	}
	if len(left) == 0 {
		t.in.fault("excludedSite", "leaves no queue")
	}
	t.spec.Queues = left
}

// known faults names that mean no queue.
func (t *translation) known(param string, names []string) {
	for _, name := range names {
		if !slices.ContainsFunc(t.site.Queues, func(q shares.Queue) bool { return means([]string{name}, q.Name) }) {
			t.in.fault(param, "there is no queue %q", name)
		}
	}
}

func means(globs []string, queue string) bool {
	return slices.ContainsFunc(globs, func(g string) bool {
		ok, err := path.Match(g, queue)
		return ok && err == nil
	})
}
