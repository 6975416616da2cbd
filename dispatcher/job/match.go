package job

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/divvyhq/divvy/shares"
)

// RunsAt says whether jobs with these requirements may run at the queue at all, by the site file alone. Requirements that are 0
// are none, so that one may ask where jobs of unknown length could run.
func RunsAt(r Requirements, q shares.Queue) bool { return Fits(r, q, q.Labels) == "" }

// Fits says whether jobs with these requirements may run at the queue at all; reason is the first gate that fails, "" none.
// labels are those of the queue, with those of a slot over them.
func Fits(r Requirements, q shares.Queue, labels map[string]string) (reason string) {
	switch {
	case r.Charges():
		return "it is what a claim holds, and no job"
	case !selects(r.Queues, q):
		return unselected(r.Queues, q)
	case q.State == shares.Drain, q.State == shares.Offline:
		return "queue is " + map[shares.QueueState]string{shares.Drain: "draining", shares.Offline: "offline"}[q.State]
	case q.State == shares.Test && !asksFor(r.Queues, q):
		return "queue is in test and the task asks for it neither by its name nor by a label"
	case q.Cores > 0 && r.Cores > q.Cores:
		return fmt.Sprintf("cores: needs %d, queue allows %d", r.Cores, q.Cores)
	case q.Slots != nil && r.Cores > *q.Slots:
		return fmt.Sprintf("cores: needs %d, queue has %d slots", r.Cores, *q.Slots)
	case q.MemoryMB > 0 && r.MemoryMB > q.MemoryMB:
		return fmt.Sprintf("memory_mb: needs %d, queue allows %d", r.MemoryMB, q.MemoryMB)
	case q.DiskMB > 0 && r.DiskMB > q.DiskMB:
		return fmt.Sprintf("disk_mb: needs %d, queue allows %d", r.DiskMB, q.DiskMB)
	case q.WalltimeS > 0 && r.WalltimeS > q.WalltimeS:
		return fmt.Sprintf("walltime_s: needs %d, queue allows %d", r.WalltimeS, q.WalltimeS)
	case r.Containers && q.Containers == "":
		return needsContainers
	}
	if r.Locality == LocalityRequired && !Local(r.Locations, q) {
		return "locality: inputs are at " + someOf(r.Locations) + ", the queue is near " + someOf(append([]string{q.Name}, q.Locations...))
	}
	if c := r.Claims; c != nil && c.Apart {
		return "claim_bound_elsewhere: its claims are bound on different nodes"
	} else if c.Bound() && c.Queue != q.Name {
		return fmt.Sprintf("claim_bound_elsewhere: bound at queue %s, node %s", c.Queue, c.Node)
	}
	for name, want := range r.Labels {
		if labels[name] != want {
			return fmt.Sprintf("label %s: needs %q, has %q", name, want, labels[name])
		}
	}
	return ""
}

// needsContainers is why a job with an image does not run at a queue of the others.
const needsContainers = "image: needs a queue that runs containers"

// Not begins a selector of queues that are left out.
const Not = "!"

// unselected is why selectors do not mean the queue. Those of a job may be more than its task has: a rule of the site may
// have left out the queue where an attempt failed.
func unselected(selectors []string, q shares.Queue) string {
	for _, s := range selectors {
		if without, out := strings.CutPrefix(s, Not); out && means(without, q) {
			return "the task, or a retry rule, leaves it out: " + s
		}
	}
	return "not among the task's queues"
}

// selects says whether the selectors mean the queue: none that leaves it out, and one of the others, if there are any.
func selects(selectors []string, q shares.Queue) bool {
	named, meant := false, false
	for _, s := range selectors {
		if without, out := strings.CutPrefix(s, Not); !out {
			named, meant = true, meant || means(s, q)
		} else if means(without, q) {
			return false
		}
	}
	return meant || !named
}

// means says whether a selector is about the queue: its name, a glob over names, or label=value.
func means(selector string, q shares.Queue) bool {
	if name, value, isLabel := strings.Cut(selector, "="); isLabel {
		got, there := q.Labels[name]
		return there && got == value
	}
	ok, err := path.Match(selector, q.Name)
	return err == nil && ok
}

// asksFor says whether one of the selectors means the queue on purpose: its name or a label, no glob.
func asksFor(selectors []string, q shares.Queue) bool {
	return slices.ContainsFunc(selectors, func(s string) bool {
		return s == q.Name || strings.Contains(s, "=") && means(s, q)
	})
}

// Local says whether the queue is near one of the storages: it lists it, or bears its name.
func Local(locations []string, q shares.Queue) bool {
	return slices.ContainsFunc(locations, func(l string) bool { return l == q.Name || slices.Contains(q.Locations, l) })
}

// mostNamed bounds the names in a reason.
const mostNamed = 5

func someOf(names []string) string {
	if len(names) <= mostNamed {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:mostNamed], ", "), len(names)-mostNamed)
}
