package pilot

import (
	"time"

	"github.com/divvyhq/divvy/api/wire"
)

// room is an amount of the machine. Memory and disk that the configuration does not say go below zero unseen.
type room struct {
	slots, cores int
	memory, disk int64
}

func (r room) plus(o room) room {
	return room{r.slots + o.slots, r.cores + o.cores, r.memory + o.memory, r.disk + o.disk}
}

func (r room) minus(o room) room {
	return room{r.slots - o.slots, r.cores - o.cores, r.memory - o.memory, r.disk - o.disk}
}

// needed is what a lease takes up. A job has at least one core to itself, else a free slot would look endless.
func needed(l wire.Lease) room {
	return room{slots: 1, cores: max(1, l.Cores), memory: l.MemoryMB, disk: l.DiskMB}
}

// offer is r as a slot. Memory that is used up is offered as 1 MB, as 0 would mean "not said".
func (c *Config) offer(r room, left time.Duration) wire.Slot {
	s := wire.Slot{Cores: r.cores, Labels: c.Labels}
	if c.MemoryMB > 0 {
		s.MemoryMB = max(1, r.memory)
	}
	if c.DiskMB > 0 {
		s.DiskMB = max(1, r.disk)
	}
	if !c.Until.IsZero() {
		s.WalltimeS = int64(left / time.Second)
	}
	return s
}
