package spec

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/internal/site/strict"
	"github.com/divvyhq/divvy/shares"
	policy "github.com/divvyhq/divvy/shares/retry"
)

// Spec is a task as a user writes it. Its work is split by exactly one of Count, Inputs (or InputsFile, or
// InputsStreamed), Events and Matrix, or it is that of Groups and Roles, or its inputs are outputs of tasks that it Needs.
// The order of all fields is that of Canonical.
type Spec struct {
	Name string `json:"name" is:"word=word" maxLength:"200" doc:"What people call the task; need not be unique."`
	User string `json:"user" is:"word=word" maxLength:"200" doc:"On whose behalf it runs."`
	Kind
	Share        string            `json:"share,omitempty" is:"empty word=share" doc:"Path of a leaf; default: what the tagging rules say."`
	Priority     int               `json:"priority,omitempty" is:"-1000000000..1000000000" doc:"Higher goes first within the share."`
	Requirements Requirements      `json:"requirements,omitempty" required:"false"`
	Queues       []string          `json:"queues,omitempty" is:"empty most=200 word=selector" maxItems:"200" doc:"Where it may run: names, globs (gpu-*) or label selectors (os=el9), with ! in front where not; empty = anywhere."`
	Command      []string          `json:"command,omitempty" is:"some empty" maxItems:"1000" doc:"Program and arguments with {{.Index}} {{.Input}} {{.Inputs}} {{.FirstEvent}} {{.Events}} or {{.<axis>}}."`
	Env          map[string]string `json:"env,omitempty" is:"empty most=200" maxProperties:"200" doc:"Environment of the jobs; values may use the same placeholders."`
	Attempts
	Count int64 `json:"count,omitempty" is:"1..10000000" minimum:"0" doc:"So many jobs, numbered from 0."`
	Source
	Due
	Needs []Need `json:"needs,omitempty" is:"some most=100" maxItems:"100" doc:"Tasks that have to be over first, or whose outputs are the inputs of this one."`
	Split *Split `json:"split,omitempty" doc:"How events or inputs fall into jobs, in place of a per_job."`
	Pace
	Place
	Matrix []job.Axis `json:"matrix,omitempty" maxItems:"10" doc:"One job for each combination of values; the last axis turns fastest. In YAML a mapping from axis to values."`
	Holdings
	Structure
}

// Kind says what kind of work it is, for tagging rules, lists and reports.
type Kind struct {
	Label          string            `json:"label,omitempty" is:"empty word=word" doc:"For instance managed or user."`
	WorkingGroup   string            `json:"working_group,omitempty" is:"empty word=word"`
	Campaign       string            `json:"campaign,omitempty" is:"empty word=word"`
	ProcessingType string            `json:"processing_type,omitempty" is:"empty word=word"`
	Transformation string            `json:"transformation,omitempty" is:"empty word=word"`
	ResourceType   string            `json:"resource_type,omitempty" is:"empty word=word" doc:"Default: SCORE or MCORE by the cores, with _HIMEM above 2000 MB a core."`
	VO             string            `json:"vo,omitempty" is:"empty word=word"`
	Labels         map[string]string `json:"labels,omitempty" is:"empty most=200 keys=word word=word" maxProperties:"200" doc:"Free attributes; tagging rules see them as labels.<key>."`
}

// Attempts bound the attempts of each job, and space them.
type Attempts struct {
	MaxAttempts     int      `json:"max_attempts,omitempty" is:"1..100" minimum:"0" doc:"Attempts of a job before it counts as failed; 0 = 3."`
	MaxFailures     int      `json:"max_failures,omitempty" is:"1..100" minimum:"0" doc:"Of these, those that failed, so that it may be lost more often than it may fail; 0 = max_attempts."`
	Backoff         Walltime `json:"backoff,omitempty" is:"seconds whole 1s..720h" doc:"How long a job waits after its first attempt that failed or was lost; twice as long after each further one; 0 = not at all."`
	MaxBackoff      Walltime `json:"max_backoff,omitempty" is:"seconds whole 1s..720h" doc:"At the most; 0 = 6h."`
	QuarantineAfter int      `json:"quarantine_after,omitempty" is:"1..100" minimum:"0" doc:"A job that was lost so many times in a row fails; 0 = as the site says; max_attempts or more = never."`
}

// Source is what the jobs work on: inputs, or a number of events.
type Source struct {
	Inputs         []Input `json:"inputs,omitempty" is:"some apart" maxItems:"500000" doc:"Inputs, per_job of them for each job: names, or objects that say more."`
	InputsFile     string  `json:"inputs_file,omitempty" doc:"A file of inputs that the client reads and streams: names, one a line, or CSV or JSON lines; the server refuses it."`
	InputsStreamed bool    `json:"inputs_streamed,omitempty" yaml:"-" doc:"The inputs follow in PUT /v1/tasks/{id}/inputs and end with POST /v1/tasks/{id}/commit."`
	PerJob         int64   `json:"per_job,omitempty" is:"1..10000" minimum:"0" doc:"Inputs of one job; 0 = 1."`
	Events         *Events `json:"events,omitempty"`
}

// Pace is how many jobs there are at a time.
type Pace struct {
	Scout      int `json:"scout,omitempty" is:"1..1000" minimum:"0" doc:"So many jobs first: they measure CPU time, memory, walltime and output, by which the rest is resized. One that fails all attempts stops the task."`
	MaxRunning int `json:"max_running,omitempty" is:"1..10000000" minimum:"0" doc:"So many of its jobs are ready or running at once, at the most; 0 = any number."`
}

// Place is where jobs run, and what they find there.
type Place struct {
	Locality string `json:"locality,omitempty" enum:",required,preferred" doc:"Whether jobs run only where their inputs are, or there first; default: preferred."`
	Image    string `json:"image,omitempty" doc:"Image of the container that jobs run in, as the queue's runtime knows it: docker.io/library/python:3.13, /cvmfs/…/image.sif. May have the placeholders of command; default: no container."`
	job.Paths
}

// Due is when all of it should be over.
type Due struct {
	Deadline *time.Time `json:"deadline,omitempty" doc:"When all of it should be over: shown, and watched, against the rate at which its jobs end."`
	Boost    int        `json:"boost,omitempty" is:"1..1000000000" minimum:"0" doc:"Priority that it gains, once, when it is likely to miss its deadline."`
}

// Holdings are what each job holds beside its slot, and whose part of it that is.
type Holdings struct {
	Resources   map[string]int64 `json:"resources,omitempty" is:"1..1000000000 most=200 keys=units" maxProperties:"200" doc:"Units of resources that each job holds while it has a slot, such as maya: 1 or, of a keyed family, table:orders: 1."`
	IOIntensity float64          `json:"io_intensity,omitempty" is:"milli ..1000000" zero:"leave it out: then no max_io keeps the jobs back" minimum:"0" doc:"MB/s that each job reads and writes, with up to three decimals; a queue runs no more than its max_io."`
	SharingID   string           `json:"sharing_id,omitempty" is:"word=word" maxLength:"200" doc:"Whose part of the resources the jobs take; default: the user."`
}

// Structure is the make-up of a task of groups and roles.
type Structure struct {
	Replicas       int             `json:"replicas,omitempty" is:"1..100000" minimum:"0" doc:"So many times all groups and roles; 0 = 1."`
	Groups         []Group         `json:"groups,omitempty" is:"some" maxItems:"200" doc:"Groups of jobs that belong together; with roles, in place of count, inputs, events and matrix."`
	Roles          []Member        `json:"roles,omitempty" is:"some" maxItems:"200" doc:"Standalone roles: jobs of a task replica that are in no group."`
	ClaimTemplates []ClaimTemplate `json:"claim_templates,omitempty" is:"some" maxItems:"200" doc:"What jobs of the task may hold together."`
	Sharing        []Sharing       `json:"sharing,omitempty" is:"some" maxItems:"200" doc:"Claims of the whole task, or of each of its replicas; only names groups and standalone roles."`
}

// Requirements are what one job of the task needs of a slot.
type Requirements struct {
	Cores    int               `json:"cores,omitempty" is:"1..10000" minimum:"0" doc:"0 = 1."`
	MemoryMB int64             `json:"memory_mb,omitempty" is:"..1000000000" minimum:"0" doc:"MB of 10^6 bytes; 0 = no need."`
	DiskMB   int64             `json:"disk_mb,omitempty" is:"..1000000000" minimum:"0"`
	Walltime Walltime          `json:"walltime,omitempty" is:"seconds whole 1s..8784h" doc:"Such as 90s, 2h or 1d12h; the pilot ends jobs that take longer."`
	Labels   map[string]string `json:"labels,omitempty" is:"empty most=200 keys=word word=word" maxProperties:"200" doc:"Labels that the slot must have."`
}

// Events splits a number of events into jobs of PerJob each; the last one may have fewer. With split it says only how many
// there are.
type Events struct {
	Total  int64 `json:"total" is:"required 1.." minimum:"1"`
	PerJob int64 `json:"per_job,omitempty" is:"1.." minimum:"0"`
}

// Walltime is a whole number of seconds, written like 90s, 48h or 1d12h.
type Walltime int64

// MarshalText writes hours, minutes and seconds: 2h0m0s.
func (w Walltime) MarshalText() ([]byte, error) {
	return []byte((time.Duration(w) * time.Second).String()), nil
}

// UnmarshalText reads what strict.ParseDuration does; parts of a second are refused.
func (w *Walltime) UnmarshalText(text []byte) error {
	d, err := strict.ParseDuration(string(text))
	if err != nil || d < 0 || d%time.Second != 0 {
		return fmt.Errorf("walltime: %.40q is not a duration in whole seconds such as 90s, 48h or 1d12h", text)
	}
	*w = Walltime(d / time.Second)
	return nil
}

// WithDefaults fills in what an absent field means.
func (s Spec) WithDefaults() Spec {
	if s.Requirements.Cores == 0 {
		s.Requirements.Cores = 1
	}
	if s.MaxAttempts == 0 {
		s.MaxAttempts = defaultAttempts
	}
	if s.PerJob == 0 && s.Split == nil && (len(s.Inputs) > 0 || s.InputsStreamed || s.InputsFile != "" || s.fed()) {
		s.PerJob = 1
	}
	if s.ResourceType == "" {
		s.ResourceType = job.Class(s.Shape())
	}
	return s
}

// Shape is the requirements as the dispatcher takes them.
func (s *Spec) Shape() job.Requirements {
	r := s.Requirements
	shape := job.Requirements{Cores: r.Cores, MemoryMB: r.MemoryMB, DiskMB: r.DiskMB,
		WalltimeS: int64(r.Walltime), Labels: r.Labels, Queues: s.Queues, Label: s.Label, Containers: s.Image != ""}
	if len(s.Resources) > 0 { // others have one shape, whoever their users are
		shape.Resources, shape.SharingID = s.Resources, s.Payer()
	}
	if io := s.ioKBs(); io > 0 {
		shape.Resources = maps.Clone(shape.Resources)
		if shape.Resources == nil {
			shape.Resources = map[string]int64{}
		}
		shape.Resources[shares.IO] = io
	}
	return shape
}

// ioKBs is what a job reads and writes, in kB/s.
func (s *Spec) ioKBs() int64 { return int64(math.Round(s.IOIntensity * 1000)) }

// Payer is the sharing ID that units of resources are counted for.
func (s *Spec) Payer() string { return cmp.Or(s.SharingID, s.User) }

// Payload is what the jobs of the task run.
func (s *Spec) Payload(task int64) job.Payload {
	p := job.Payload{Task: task, Command: s.Command, Env: s.Env, Matrix: s.Matrix, Retry: s.terms(), Image: s.Image, Paths: s.Paths}
	if s.Grouped() {
		p.Roles = s.commands()
		for _, role := range slices.Sorted(maps.Keys(p.Roles)) {
			if len(p.Command) == 0 {
				p.Command = p.Roles[role] // all roles have one of their own: it is never run
			}
		}
	}
	return p
}

// terms are those for attempts that do not finish; nil where the task has none beside its attempts.
func (s *Spec) terms() *policy.Terms {
	failures := s.MaxFailures
	if s.MaxAttempts > 0 && failures >= s.MaxAttempts {
		failures = 0 // the attempts bound them already
	}
	t := policy.Terms{MaxFailures: failures, BackoffS: float64(s.Backoff), MaxBackoffS: float64(s.MaxBackoff), QuarantineAfter: s.QuarantineAfter}
	if t == (policy.Terms{}) {
		return nil
	}
	return &t
}
