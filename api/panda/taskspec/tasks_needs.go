package taskspec

import (
	"math"
	"strings"

	"github.com/divvyhq/divvy/generator/spec"
)

// Sizing, as PanDA does it.
const (
	leastOutputMB  = 500 // disk for outputs, at the least
	efficiency     = 90  // per cent of the walltime that a payload computes, where cpuEfficiency does not say
	nominalPower   = 10  // HS06 of a core at a queue that does not say: core_power 1
	secondsPerHour = 3600
)

// needs sizes the jobs. It comes after the work is split and the places are known.
func (t *translation) needs() {
	r := &t.spec.Requirements
	r.Cores = max(int(t.in.whole("coreCount", 0)), 1) // 0 stands for one here
	r.MemoryMB = t.memory(r.Cores)
	t.spec.IOIntensity = t.io()
	if t.fits {
		t.fit()
		return
	}
	r.DiskMB = t.disk()
	r.Walltime = t.walltime(r.Cores)
}

// fit has jobs sized by what an event takes, within maxWalltime and what the queues allow.
func (t *translation) fit() {
	split := &spec.Split{Fit: true, BaseWalltime: spec.Walltime(roundUp(t.in.figure("baseWalltime"))), Efficiency: min(t.in.figure("cpuEfficiency")/100, 1)}
	t.spec.Split = split
	hs06, power := t.slowest()
	split.CPUPerEvent = t.spent() * power / hs06
	out, work := t.in.figure("outDiskCount"), t.in.figure("workDiskCount")
	size, per := t.unit("outDiskUnit", t.in.text("outDiskUnit"), "kB")
	split.WorkMB = roundUp(work * t.workUnit())
	if per == "Fixed" {
		split.WorkMB += roundUp(max(out*size-leastOutputMB, 0))
	} else {
		split.OutputPerEvent = out * size
	}
	t.in.text("walltimeUnit") // of a walltime that is not there
	t.spec.Requirements.Walltime = spec.Walltime(roundUp(t.longest()))
}

// longest is maxWalltime in seconds: no need of a job but a bound on how a task may be split, and never more than the task's
// queues allow. iDDS says 3600 hours where nobody said anything. 0 = not said.
func (t *translation) longest() float64 {
	hours := t.in.figure("maxWalltime")
	allowed := int64(0)
	for _, q := range t.site.Queues {
		if len(t.spec.Queues) > 0 && !means(t.spec.Queues, q.Name) {
			continue
		}
		if q.WalltimeS == 0 {
			allowed = spec.MaxWalltime
			break
		}
		allowed = max(allowed, q.WalltimeS)
	}
	if allowed == 0 { // no queue yet
		allowed = spec.MaxWalltime
	}
	return min(hours*secondsPerHour, float64(allowed))
}

// io is what a job reads and writes, in MB/s.
func (t *translation) io() float64 {
	kbs, unit := t.in.figure("ioIntensity"), t.in.text("ioIntensityUnit")
	if unit != "" && unit != "kBPerS" {
		t.in.fault("ioIntensityUnit", "%q is not kBPerS", unit)
	}
	return math.Round(kbs) / 1000
}

// memory is in MB; per core it is for all cores, and what a job takes whatever its cores is added.
func (t *translation) memory(cores int) int64 {
	ram, base := t.in.figure("ramCount"), t.in.figure("baseRamCount")
	unit, name := t.in.text("ramUnit"), "ramUnit"
	if other := t.in.text("ramCountUnit"); unit == "" {
		unit, name = other, "ramCountUnit"
	}
	switch unit {
	case "", "MB":
	case "MBPerCore", "MBPerCoreFixed":
		ram *= float64(cores)
	default:
		t.in.fault(name, "%q is not one of MB, MBPerCore, MBPerCoreFixed", unit)
	}
	return roundUp(base + ram)
}

// perJob is the events of a job; 0 = not known.
func (t *translation) perJob() float64 {
	if t.spec.Events == nil {
		return 0
	}
	return float64(min(t.spec.Events.PerJob, t.spec.Events.Total))
}

// disk is what a job writes, in MB: work and outputs. Of inputs nobody says how large they are.
func (t *translation) disk() int64 {
	out, work := t.in.figure("outDiskCount"), t.in.figure("workDiskCount")
	size, per := t.unit("outDiskUnit", t.in.text("outDiskUnit"), "kB")
	workSize := t.workUnit()
	if out == 0 && work == 0 {
		return 0
	}
	switch events := t.perJob(); {
	case out == 0 || per == "Fixed":
	case events > 0:
		out *= events
	default:
		t.in.ignore("outDiskCount", "it grows with the events of a job or the size of its inputs, and neither is known here")
		if out = 0; work == 0 {
			return 0
		}
	}
	return roundUp(max(out*size, leastOutputMB) + work*workSize)
}

// workUnit is the MB that workDiskUnit stands for.
func (t *translation) workUnit() float64 {
	unit := t.in.text("workDiskUnit")
	size, per := t.unit("workDiskUnit", unit, "MB")
	if per != "" && per != "Fixed" {
		t.in.fault("workDiskUnit", "%q: work space does not grow with events", unit)
	}
	return size
}

// unit reads a unit of sizes: MB that it stands for, and what a size is for: nothing more, PerEvent or Fixed.
func (t *translation) unit(name, unit, normal string) (size float64, per string) {
	if unit == "" {
		unit = normal
	}
	for prefix, size := range map[string]float64{"kB": 1e-3, "MB": 1, "GB": 1e3} {
		if per, ok := strings.CutPrefix(unit, prefix); ok && (per == "" || per == "PerEvent" || per == "Fixed") {
			return size, per
		}
	}
	t.in.fault(name, "%q is not one of kB, MB, GB, with PerEvent or Fixed behind it or not", unit)
	return 0, ""
}

// walltime is what a job is given: what the task says, else what its events take at the slowest of its queues, else the
// longest that it and they allow.
func (t *translation) walltime(cores int) spec.Walltime {
	said, unit := t.in.figure("walltime"), t.in.text("walltimeUnit")
	base, longest := t.in.figure("baseWalltime"), t.longest()
	measured := t.cpu(cores)
	switch unit {
	case "", "s", "seconds":
	default:
		if said > 0 {
			t.in.ignore("walltime", "its unit %s is not seconds", unit)
		}
		said = 0
	}
	wall := said
	if wall == 0 {
		wall, t.wallParam = measured, "cpuTime"
	} else if measured > 0 {
		t.in.ignore("cpuTime", "walltime says how long a job takes")
	}
	if wall == 0 {
		if base > 0 {
			t.in.ignore("baseWalltime", "neither walltime nor cpuTime says to what it is to be added")
		}
		return spec.Walltime(roundUp(longest))
	}
	if wall += base; longest > 0 && wall > longest {
		t.in.ignore("maxWalltime", "jobs take %.0f s by walltime, cpuTime and baseWalltime, and are not split by time", wall)
	}
	return spec.Walltime(roundUp(wall))
}

// cpu is how many seconds the events of a job take on its cores at the slowest queue; 0 = not known.
func (t *translation) cpu(cores int) float64 {
	percent := t.in.figure("cpuEfficiency")
	if percent == 0 {
		percent = efficiency
	}
	spent := t.spent()
	events := t.perJob()
	if spent > 0 && events == 0 {
		t.in.ignore("cpuTime", "it is for an event, and how many a job has is not known here: say walltime")
		return 0
	}
	power, _ := t.slowest()
	return spent * events / (float64(cores) * power * percent / 100)
}

// spent is cpuTime: HS06 seconds of an event. Fixed in its unit is for scouts.
func (t *translation) spent() float64 {
	spent, unit := t.in.figure("cpuTime"), t.in.text("cpuTimeUnit")
	switch strings.TrimSuffix(unit, "Fixed") {
	case "", "HS06sPerEvent":
	case "mHS06sPerEvent":
		spent /= 1000
	default:
		t.in.fault("cpuTimeUnit", "%q is not one of HS06sPerEvent, mHS06sPerEvent", unit)
	}
	return spent
}

// slowest is the HS06 of a core at the slowest queue that the task may run at, and the least core_power of these, which splitting
// goes by.
func (t *translation) slowest() (hs06, power float64) {
	hs06, power = math.Inf(1), math.Inf(1)
	for _, q := range t.site.Queues {
		if len(t.spec.Queues) > 0 && !means(t.spec.Queues, q.Name) {
			continue
		}
		own := float64(q.CorePowerMilli) / 1000
		power = min(power, own)
		if q.CorePowerMilli == 1000 {
			own = nominalPower
		}
		hs06 = min(hs06, own)
	}
	if math.IsInf(hs06, 1) {
		return nominalPower, 1
	}
	return hs06, power
}

// roundUp makes a whole number that int64 holds; what is beyond any limit stays beyond it.
func roundUp(f float64) int64 { return int64(math.Ceil(min(f, 1e15))) }
