package job

import (
	"math"

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

// Room is what is left of a slot. Figures that nobody stated are as large as a number can be.
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
	if cores > math.MaxInt32/2 { // nobody stated any: what the pull was given already is off it
		cores = most
	}
	return shares.Units(int64(cores) * q.CorePowerMilli)
}
