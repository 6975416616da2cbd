package job

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/divvyhq/divvy/shares"
)

// Slot is what a pilot offers with one pull. Zero means "not said": the queue's own figure counts, and where
// the queue says nothing either there is no limit.
type Slot struct {
	Cores     int               `json:"cores" doc:"Cores that the slot offers." minimum:"0" required:"false"`
	MemoryMB  int64             `json:"memory_mb" doc:"Memory in MB (10^6 bytes)." minimum:"0" required:"false"`
	DiskMB    int64             `json:"disk_mb" doc:"Scratch space in MB." minimum:"0" required:"false"`
	WalltimeS int64             `json:"walltime_s" doc:"Seconds that the slot lives on." minimum:"0" required:"false"`
	Labels    map[string]string `json:"labels" maxProperties:"100" doc:"Labels of the slot, over those of the queue; names and values of at most 200 characters." required:"false"`
}

// Room is the unused part of a slot. Figures that were not stated are as large as a number can be.
type Room struct {
	Cores     int
	MemoryMB  int64
	DiskMB    int64
	WalltimeS int64
}

// RoomOf is what a slot has at a queue before it gets anything.
func RoomOf(s Slot, q shares.Queue) Room {
	return Room{
		Cores:     int(stated(int64(s.Cores), int64(q.Cores))),
		MemoryMB:  stated(s.MemoryMB, 0), // the queue's memory bounds one job, not a slot of many
		DiskMB:    stated(s.DiskMB, 0),
		WalltimeS: stated(s.WalltimeS, q.WalltimeS),
	}
}

func stated(figures ...int64) int64 {
	for _, f := range figures {
		if f > 0 {
			return f
		}
	}
	return math.MaxInt32
}

// Fits says whether a job has room.
func (r Room) Fits(n Requirements) bool {
	return n.Cores <= r.Cores && n.MemoryMB <= r.MemoryMB && n.DiskMB <= r.DiskMB && n.WalltimeS <= r.WalltimeS
}

// Without is the room that is left beside a job. Its walltime does not get less.
func (r Room) Without(n Requirements) Room {
	r.Cores -= n.Cores
	r.MemoryMB -= n.MemoryMB
	r.DiskMB -= n.DiskMB
	return r
}

// Offered is what a room counts towards R, in units of the queue; max jobs of one core when no cores are stated.
func (r Room) Offered(q shares.Queue, most int) shares.Units {
	cores := r.Cores
	if cores > math.MaxInt32/2 { // not stated; minus what the pull was granted already
		cores = most
	}
	return shares.Units(int64(cores) * q.CorePowerMilli)
}

// Only narrows a pull to some of the jobs; the zero Only does not. Shares decide among these as among all.
type Only struct {
	Labels []string `json:"labels,omitempty" maxItems:"100" maxLength:"200" doc:"Jobs of tasks with one of these labels; empty = any label." required:"false"`
	Task   int64    `json:"task,omitempty" minimum:"0" doc:"Jobs of this task; 0 = any." required:"false"`
	User   string   `json:"user,omitempty" maxLength:"200" doc:"Jobs of this user's tasks; empty = any." required:"false"`
}

// MostLabels bounds how many labels a pull may name.
const MostLabels = 100

// None says that the pull takes any job.
func (o *Only) None() bool { return len(o.Labels) == 0 && o.Task == 0 && o.User == "" }

// Check returns a FieldError about what cannot be.
func (o *Only) Check() error {
	switch {
	case len(o.Labels) > MostLabels:
		return &FieldError{"only.labels", fmt.Sprintf("%d labels", len(o.Labels)), fmt.Sprintf("at most %d", MostLabels)}
	case o.Task < 0:
		return &FieldError{"only.task", o.Task, "the id of a task, or 0 for any"}
	case WrongName(o.User):
		return BadName("only.user", o.User)
	}
	for i, label := range o.Labels {
		if WrongName(label) {
			return BadName(fmt.Sprintf("only.labels[%d]", i), label)
		}
	}
	return nil
}

// Tidy is the same in one way to write it: pulls that take the same jobs are of one class.
func (o Only) Tidy() Only {
	if o.Labels = slices.Compact(slices.Sorted(slices.Values(o.Labels))); len(o.Labels) == 0 {
		o.Labels = nil
	}
	return o
}

// Takes says whether tasks with that label are among those that the pull takes.
func (o *Only) Takes(label string) bool {
	return len(o.Labels) == 0 || slices.Contains(o.Labels, label)
}

// Words says what the pull takes.
func (o *Only) Words() string {
	var parts []string
	if len(o.Labels) > 0 {
		parts = append(parts, "of label "+strings.Join(o.Labels, " or "))
	}
	if o.Task != 0 {
		parts = append(parts, fmt.Sprintf("of task %d", o.Task))
	}
	if o.User != "" {
		parts = append(parts, "of user "+o.User)
	}
	return "jobs " + strings.Join(parts, " and ") + " only"
}
