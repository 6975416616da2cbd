package face

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
