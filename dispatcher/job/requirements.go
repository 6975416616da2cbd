package job

import (
	"iter"
	"maps"
	"slices"
)

// Requirements are what a job needs of a slot.
type Requirements struct {
	Cores     int               `json:"cores"`
	MemoryMB  int64             `json:"memory_mb"`
	DiskMB    int64             `json:"disk_mb"`
	WalltimeS int64             `json:"walltime_s"`
	Labels    map[string]string `json:"labels"`
	Queues    []string          `json:"queues" doc:"Names, globs (gpu-*) or label selectors (os=el9); with ! in front those that are left out; empty = any."`
	Label     string            `json:"label,omitempty" doc:"The label of the task: pulls may ask for some labels only."`

	// Of jobs that ask for resources; absent from the others, whose shapes are what they always were.
	Resources map[string]int64 `json:"resources,omitempty" doc:"Units that a job holds while it runs, by resource; of a family with its key, table:orders."`
	SharingID string           `json:"sharing_id,omitempty" doc:"Who they are charged to where resources are split by user."`

	Claims *ClaimNeed `json:"claims,omitempty" doc:"Of jobs that hold claims; absent from the others."`

	// Of jobs that should run near their inputs; absent from the others.
	Locations []string `json:"locations,omitempty" doc:"Storages that have the inputs, any one of them all."`
	Locality  string   `json:"locality,omitempty" enum:"required,preferred" doc:"required: only queues near one of the locations run it; preferred: their pilots get it first."`

	Containers bool `json:"containers,omitempty" doc:"Of jobs with an image; absent from the others."`

	User string `json:"user,omitempty" doc:"Whose jobs these are, in a share that gives jobs by fair turn among users; absent elsewhere."`
}

// Localities of jobs that have locations.
const (
	LocalityRequired  = "required"
	LocalityPreferred = "preferred"
)

// Charges says whether the requirements are those of a claim's units, and of no job.
func (r Requirements) Charges() bool { return r.Cores == 0 }

// Units are the resources of which jobs need some units, in the order of their names.
func (r Requirements) Units() iter.Seq2[string, int64] {
	return func(yield func(string, int64) bool) {
		for _, ref := range slices.Sorted(maps.Keys(r.Resources)) {
			if units := r.Resources[ref]; units > 0 && !yield(ref, units) {
				return
			}
		}
	}
}

// himemPerCore is the memory of a core, in MB, above which a job is one of much memory.
const himemPerCore = 2000

// Class names the kind of jobs with these requirements as PanDA does: SCORE or MCORE, by cores, and _HIMEM behind it for
// more than 2000 MB a core.
func Class(r Requirements) string {
	class := "SCORE"
	if r.Cores > 1 {
		class = "MCORE"
	}
	if r.MemoryMB > himemPerCore*int64(max(1, r.Cores)) {
		class += "_HIMEM"
	}
	return class
}

// Classes are the names that Class gives.
var Classes = []string{"SCORE", "MCORE", "SCORE_HIMEM", "MCORE_HIMEM"}
