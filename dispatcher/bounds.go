package dispatcher

import (
	"fmt"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/resource"
)

// checkTexts refuses what the database does not take: it would fail the statement in which others are leased their jobs too.
// Names are bounded as well: those of nodes are parts of keys, which have bounds of their own, and pilots are remembered for a while.
func checkTexts(req *PullRequest) error {
	switch {
	case job.WrongName(req.Queue):
		return job.BadName("queue", req.Queue)
	case job.WrongName(req.Pilot):
		return job.BadName("pilot", req.Pilot)
	case job.WrongName(req.Node):
		return job.BadName("node", req.Node)
	case len(req.Devices) > resource.MaxDevices:
		return job.Wrong("devices", fmt.Sprintf("%d devices", len(req.Devices)), fmt.Sprintf("at most %d", resource.MaxDevices))
	case len(req.Slot.Labels) > job.MostLabels:
		return job.Wrong("slot.labels", fmt.Sprintf("%d labels", len(req.Slot.Labels)), fmt.Sprintf("at most %d", job.MostLabels))
	}
	for i, id := range req.Devices {
		if job.WrongName(id) {
			return job.BadName(fmt.Sprintf("devices[%d]", i), id)
		}
	}
	for name, value := range req.Slot.Labels {
		if job.WrongName(name) {
			return job.BadName("slot.labels", name)
		}
		if job.WrongName(value) {
			return job.BadName("slot.labels", value)
		}
	}
	return nil
}

// Bounds of what an attempt may have used, as it is written down: 30 years of one core, and a petabyte. A pilot that says
// more has miscounted; its result counts all the same. The sum over all attempts that there may ever be fits a bigint of
// milliseconds.
const (
	mostCPUSeconds = 1e9
	mostMemoryMB   = 1_000_000_000
)

// bounded is the usage as it is written down. What is no number is none.
func bounded(u Usage) Usage {
	if !(u.CPUSeconds > 0) {
		u.CPUSeconds = 0
	}
	return Usage{CPUSeconds: min(u.CPUSeconds, mostCPUSeconds), MemoryMB: min(max(0, u.MemoryMB), mostMemoryMB)}
}
