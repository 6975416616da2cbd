package panda

import (
	"cmp"
	"context"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"

	"github.com/divvyhq/divvy/api/panda/taskspec"
	"github.com/divvyhq/divvy/dispatcher"
)

// pandaJob is a lease as pilots of both generations read it, flat. Fields without a value are left out; without files
// no pilot stages anything.
type pandaJob struct {
	StatusCode      int    `json:"StatusCode"`
	PandaID         int64  `json:"PandaID"`
	TaskID          int64  `json:"taskID"`
	AttemptNr       int    `json:"attemptNr"`
	JobName         string `json:"jobName,omitempty"`
	Transformation  string `json:"transformation"`
	JobPars         string `json:"jobPars"`
	CoreCount       int    `json:"coreCount"`
	MinRAMCount     int64  `json:"minRamCount,omitempty"`
	MaxDiskCount    int64  `json:"maxDiskCount,omitempty"`
	MaxWalltime     int64  `json:"maxWalltime,omitempty"`
	ProdSourceLabel string `json:"prodSourceLabel,omitempty"`
	ProcessingType  string `json:"processingType,omitempty"`
	WorkingGroup    string `json:"workingGroup,omitempty"`
	ProdUserID      string `json:"prodUserID,omitempty"`
	ResourceType    string `json:"resource_type,omitempty"`
	SWRelease       string `json:"swRelease"`
	HomePackage     string `json:"homepackage"`
	CMTConfig       string `json:"cmtConfig"`
	taskspec.OutFiles
}

// noRelease is PanDA's word for a job without a release of an experiment's software, which pilots of some experiments
// would set up.
const noRelease = "NULL"

// jobOf makes the job of a lease, with the names of its task.
func (s *pilots) jobOf(r *http.Request, queue string, l *dispatcher.Lease) pandaJob {
	transformation, jobPars := taskspec.PayloadOf(l, queue, s.base(r)+path.Join(taskspec.TrfPath, dispatcher.LogKey(l.Lease), taskspec.RunShellName))
	t := s.taskOf(r.Context(), l.Task)
	return pandaJob{PandaID: l.Job, TaskID: l.Task, AttemptNr: l.Attempt, JobName: t.name + "." + strconv.FormatInt(l.Job, 10),
		Transformation: transformation, JobPars: jobPars, CoreCount: max(1, l.Cores),
		MinRAMCount: l.MemoryMB, MaxDiskCount: l.DiskMB, MaxWalltime: l.WalltimeS,
		ProdSourceLabel: t.label, ProcessingType: t.processingType, WorkingGroup: t.workingGroup,
		ProdUserID: t.user, ResourceType: t.resourceType, SWRelease: noRelease, HomePackage: noRelease, CMTConfig: noRelease,
		OutFiles: taskspec.OutputsOf(taskspec.FillLate(l.Env[taskspec.OutputsVar], s.base(r), l.Task))}
}

// base returns the URL at which the pilot reached this daemon.
func (s Config) base(r *http.Request) string {
	if s.URL != "" {
		return strings.TrimSuffix(s.URL, "/")
	}
	if r.TLS != nil {
		return "https://" + r.Host
	}
	return "http://" + r.Host
}

// named holds what each job says about its task. It never changes.
type named struct {
	name, user, label, processingType, workingGroup, resourceType string
}

// names remembers the tasks of recently granted jobs.
type names struct {
	mu sync.Mutex
	of map[int64]named
}

// maxNames bounds the tasks remembered, a few hundred bytes each.
const maxNames = 10000

// taskOf returns the names of a task. A failure leaves them out: a pilot can run the job without them, and the lease
// must not be lost.
func (s *pilots) taskOf(ctx context.Context, id int64) named {
	s.tasks.mu.Lock()
	n, known := s.tasks.of[id]
	s.tasks.mu.Unlock()
	if known {
		return n
	}
	t, err := s.Tasks.Task(ctx, id)
	if err != nil {
		s.Log.Warn("a job is given out without what its task is called", "task", id, "error", err)
		return named{name: "task" + strconv.FormatInt(id, 10)}
	}
	n = named{name: cmp.Or(t.Name, "task"+strconv.FormatInt(id, 10)), user: t.User, label: t.Attributes["label"],
		processingType: t.Attributes["processing_type"], workingGroup: t.Attributes["working_group"], resourceType: t.Attributes["resource_type"]}
	s.tasks.mu.Lock()
	defer s.tasks.mu.Unlock()
	if s.tasks.of == nil || len(s.tasks.of) >= maxNames {
		s.tasks.of = map[int64]named{}
	}
	s.tasks.of[id] = n
	return n
}
