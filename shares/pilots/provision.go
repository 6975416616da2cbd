package pilots

import (
	"fmt"
	"time"
)

// Provision bounds the pilots of a queue and describes each of them. Figures of 0 are not given.
type Provision struct {
	Min       int   `json:"min,omitempty" yaml:"min" is:"..1000000" doc:"pilots that are wanted even without a job"`
	Max       int   `json:"max" yaml:"max" is:"required 1..1000000" doc:"most pilots"`
	Burst     int   `json:"burst,omitempty" yaml:"burst" is:"1..1000000" doc:"most pilots that are asked for and not there yet"`
	IdleS     int64 `json:"idle_s,omitempty" yaml:"idle" is:"seconds 1s.." doc:"a pilot leaves after so long without a job; one in the batch system's queue is cancelled when it was not wanted for so long"`
	Slots     int   `json:"slots,omitempty" yaml:"slots" is:"1..100000" doc:"jobs at once of a pilot"`
	Cores     int   `json:"cores,omitempty" yaml:"cores" is:"1..100000" doc:"cores of a pilot; default: as many as slots"`
	MemoryMB  int64 `json:"memory_mb,omitempty" yaml:"memory_mb" is:"1..1000000000" doc:"memory of a pilot; default: no bound"`
	WalltimeS int64 `json:"walltime_s,omitempty" yaml:"walltime" is:"seconds 2m.." doc:"how long a pilot lives; a job must fit with 90 s to spare; default: no end"`
}

// Default has the figures of a provision that gives only its max.
func Default() Provision { return Provision{Burst: 50, IdleS: 300, Slots: 1} }

// Filled returns p with the defaults for what it leaves out.
func (p Provision) Filled() Provision {
	d := Default()
	if p.Burst == 0 {
		p.Burst = d.Burst
	}
	if p.IdleS == 0 {
		p.IdleS = d.IdleS
	}
	if p.Slots == 0 {
		p.Slots = d.Slots
	}
	if p.Cores == 0 {
		p.Cores = p.Slots
	}
	return p
}

// Idle is IdleS as a duration.
func (p Provision) Idle() time.Duration { return time.Duration(p.IdleS) * time.Second }

// spareS is what a pilot needs of its walltime for itself: 30 s to start in, and the minute before its end, or a tenth of a short life, in
// which it drains.
func (p Provision) spareS() int64 { return 30 + min(60, p.WalltimeS/10) }

// Fits returns how many jobs of that size a fresh pilot runs at once; 0: none.
func (p Provision) Fits(cores int, memoryMB, walltimeS int64) int64 {
	if p.WalltimeS > 0 && walltimeS > p.WalltimeS-p.spareS() {
		return 0
	}
	n := min(int64(p.Slots), int64(p.Cores/max(1, cores)))
	if p.MemoryMB > 0 && memoryMB > 0 {
		n = min(n, p.MemoryMB/memoryMB)
	}
	return n
}

// String is how the site file has it.
func (p Provision) String() string {
	s := fmt.Sprintf("min %d, max %d, burst %d, idle %s, slots %d, cores %d", p.Min, p.Max, p.Burst, p.Idle(), p.Slots, p.Cores)
	if p.MemoryMB > 0 {
		s += fmt.Sprintf(", memory_mb %d", p.MemoryMB)
	}
	if p.WalltimeS > 0 {
		s += fmt.Sprintf(", walltime %s", time.Duration(p.WalltimeS)*time.Second)
	}
	return s
}
