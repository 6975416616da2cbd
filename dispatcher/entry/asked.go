package entry

import "github.com/divvyhq/divvy/dispatcher/job"

// Asked says what the pulls asked for that the grants of its batch are of. No state follows from it: whoever reads the log makes its
// decisions again by it. It stands after them, and there is one a batch at the most.
type Asked struct {
	Pulls []Ask  `json:"pulls"` // each kind once
	Of    string `json:"of"`    // a letter a grant of the batch, in their order: A is the first of Pulls, and so on; - is not known
}

// Ask is what a pull offers and takes, beside its queue, pilot and node. Figures that are zero were not stated.
type Ask struct {
	Cores     int               `json:"cores,omitempty"`
	MemoryMB  int64             `json:"memory_mb,omitempty"`
	DiskMB    int64             `json:"disk_mb,omitempty"`
	WalltimeS int64             `json:"walltime_s,omitempty"`
	Labels    map[string]string `json:"labels,omitempty"`
	Most      int               `json:"most,omitempty"` // jobs
	Only      *job.Only         `json:"only,omitempty"`
	Devices   []string          `json:"devices,omitempty"`
}

// Slot is what it offers.
func (a Ask) Slot() job.Slot {
	return job.Slot{Cores: a.Cores, MemoryMB: a.MemoryMB, DiskMB: a.DiskMB, WalltimeS: a.WalltimeS, Labels: a.Labels}
}
