package pilots

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/divvyhq/divvy/api/problem"
	"github.com/divvyhq/divvy/dispatcher"
)

// Bounds of the pilots' requests. They stand a second time in the tags of dispatcher/wire.go, for the document;
// TestDescriptionOfPulls fails when the two differ.
const (
	maxJobs      = 1000
	maxWaitS     = 300
	MaxItems     = 1000
	maxRequestID = 200
	maxMessage   = 4096
	maxLogTail   = 65536
	MaxLabels    = 100
	MaxName      = 200
	MaxDevices   = 1000
)

// wrong is what is wrong with a pilot's request.
type wrong struct{ problem.Faults }

// checkPull names everything that is wrong with req.
func checkPull(req *dispatcher.PullRequest) error {
	var f wrong
	f.name("body.queue", req.Queue, "the queue that the pilot runs in")
	f.name("body.pilot", req.Pilot, "the pilot's name")
	f.text("body.queue", req.Queue)
	f.text("body.pilot", req.Pilot)
	f.text("body.node", req.Node)
	if n := len(req.Devices); n > MaxDevices {
		f.Add("body.devices", fmt.Sprintf("expected at most %d devices", MaxDevices), n)
	}
	for i, id := range req.Devices {
		f.textOf("devices", i, id)
	}
	if req.Max < 0 || req.Max > maxJobs {
		f.Add("body.max", fmt.Sprintf("expected 0 to %d jobs", maxJobs), req.Max)
	}
	if req.WaitS < 0 || req.WaitS > maxWaitS {
		f.Add("body.wait_s", fmt.Sprintf("expected 0 to %d seconds", maxWaitS), req.WaitS)
	}
	f.length("body.request_id", req.RequestID, maxRequestID)
	s := &req.Slot
	if s.Cores < 0 || s.Cores > math.MaxInt32 {
		f.Add("body.slot.cores", fmt.Sprintf("expected 0 (not stated) to %d", math.MaxInt32), s.Cores)
	}
	f.positive("body.slot.memory_mb", s.MemoryMB)
	f.positive("body.slot.disk_mb", s.DiskMB)
	f.positive("body.slot.walltime_s", s.WalltimeS)
	if n := len(s.Labels); n > MaxLabels {
		f.Add("body.slot.labels", fmt.Sprintf("expected at most %d labels", MaxLabels), n)
	}
	for name, value := range s.Labels {
		f.text("body.slot.labels", name)
		f.text("body.slot.labels", value)
	}
	if n := len(req.Only.Labels); n > MaxLabels {
		f.Add("body.only.labels", fmt.Sprintf("expected at most %d labels", MaxLabels), n)
	}
	f.positive("body.only.task", req.Only.Task)
	for i, label := range req.Only.Labels {
		f.textOf("only.labels", i, label)
	}
	f.text("body.only.user", req.Only.User)
	return f.Problem()
}

// checkRenew names everything that is wrong with req.
func checkRenew(req *dispatcher.RenewRequest) error {
	var f wrong
	f.name("body.pilot", req.Pilot, "the pilot's name")
	for i := range f.items("body.leases", req.Leases == nil, len(req.Leases)) {
		l := &req.Leases[i]
		if l.Lease == "" {
			f.name(problem.ItemField("leases", i, "lease"), l.Lease, "a lease token")
		}
		switch l.State {
		case "", dispatcher.Granted, dispatcher.Starting, dispatcher.Running, dispatcher.Draining:
		default:
			f.Add(problem.ItemField("leases", i, "state"), "expected granted, starting, running or draining", string(l.State))
		}
		f.usage("leases", i, l.Usage)
	}
	return f.Problem()
}

// checkFinish names everything that is wrong with req.
func checkFinish(req *dispatcher.FinishRequest) error {
	var f wrong
	f.name("body.pilot", req.Pilot, "the pilot's name")
	for i := range f.items("body.results", req.Results == nil, len(req.Results)) {
		l := &req.Results[i]
		if l.Lease == "" {
			f.name(problem.ItemField("results", i, "lease"), l.Lease, "a lease token")
		}
		switch l.Outcome {
		case dispatcher.Finished, dispatcher.Failed, dispatcher.Cancelled, dispatcher.Revoked:
		default:
			f.Add(problem.ItemField("results", i, "outcome"), "expected finished, failed, cancelled or revoked", string(l.Outcome))
		}
		if len(l.Message) > maxMessage {
			f.length(problem.ItemField("results", i, "message"), l.Message, maxMessage)
		}
		if len(l.LogTail) > maxLogTail {
			f.length(problem.ItemField("results", i, "log_tail"), l.LogTail, maxLogTail)
		}
		f.usage("results", i, l.Usage)
	}
	return f.Problem()
}

func (f *wrong) name(location, value, what string) {
	if value == "" {
		f.Add(location, "expected "+what+", found nothing", nil)
	}
}

func (f *wrong) positive(location string, n int64) {
	if n < 0 {
		f.Add(location, "expected 0 or more", n)
	}
}

func (f *wrong) length(location, value string, most int) {
	if n := utf8.RuneCountInString(value); n > most {
		f.Add(location, fmt.Sprintf("expected at most %d characters, found %d", most, n), nil)
	}
}

// text is for a name: what the database cannot keep is refused before others are leased their jobs beside it.
func (f *wrong) text(location, value string) {
	if len(value) > MaxName {
		f.length(location, value, MaxName)
	}
	if strings.IndexByte(value, 0) >= 0 {
		f.Add(location, "expected text without U+0000", nil)
	}
}

// textOf is text for an element of a list; its place is written down only where something is wrong.
func (f *wrong) textOf(list string, i int, value string) {
	if len(value) > MaxName || strings.IndexByte(value, 0) >= 0 {
		f.text(fmt.Sprintf("body.%s[%d]", list, i), value)
	}
}

// items is how many elements of a list of n are looked at.
func (f *wrong) items(location string, missing bool, n int) int {
	switch {
	case missing:
		f.Add(location, "expected a list, found nothing", nil)
	case n > MaxItems:
		f.Add(location, fmt.Sprintf("expected at most %d items, found %d", MaxItems, n), nil)
		return 0
	}
	return n
}

func (f *wrong) usage(of string, i int, u dispatcher.Usage) {
	if u.CPUSeconds < 0 {
		f.Add(problem.ItemField(of, i, "usage.cpu_s"), "expected 0 or more seconds", u.CPUSeconds)
	}
	if u.MemoryMB < 0 {
		f.Add(problem.ItemField(of, i, "usage.memory_mb"), "expected 0 or more MB", u.MemoryMB)
	}
}
