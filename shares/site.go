package shares

import (
	"slices"

	"github.com/divvyhq/divvy/shares/pilots"
	"github.com/divvyhq/divvy/shares/retry"
)

// ShareID is the stable id of a share, never reused. QueueID is that of a queue.
type (
	ShareID int32
	QueueID int32
)

// Units counts capacity in thousandths of a unit, so that sums are exact. A unit is a core times the core
// power of its queue.
type Units int64

// Unlimited stands for "no cap".
const Unlimited Units = 1<<62 - 1

// Float returns u in units.
func (u Units) Float() float64 { return float64(u) / 1000 }

// QueueState says what a queue takes.
type QueueState string

// States of a queue. A queue that drains or is offline gets no new job; test queues get only jobs that name them.
const (
	Online  QueueState = "online"
	Drain   QueueState = "drain"
	Offline QueueState = "offline"
	Test    QueueState = "test"
)

// Queue is a place where pilots run. Zero limits are unlimited, but for Slots.
type Queue struct {
	ID             QueueID           `json:"id" yaml:"-"`
	Name           string            `json:"name" is:"required word=queue"`
	Pool           string            `json:"pool" is:"word=pool"`
	State          QueueState        `json:"state" yaml:"-" enum:"online,drain,offline,test"`
	Slots          *int              `json:"slots,omitempty" is:"..1000000000" doc:"Cores that may run at once; absent = unlimited."`
	CorePowerMilli int64             `json:"core_power_milli" yaml:"core_power" is:"milli ..1000000" zero:"leave it out for 1; use slots: 0 to run nothing" doc:"Thousandths of a unit that one core counts."`
	Cores          int               `json:"cores,omitempty" is:"1..1000000000" doc:"Most cores of one job."`
	MemoryMB       int64             `json:"memory_mb,omitempty" is:"1..1000000000" doc:"Most memory of one job."`
	DiskMB         int64             `json:"disk_mb,omitempty" is:"1..1000000000" doc:"Most scratch of one job."`
	WalltimeS      int64             `json:"walltime_s,omitempty" yaml:"walltime" is:"seconds 1s.." doc:"Longest job in seconds."`
	MaxIO          int64             `json:"max_io_kb_s,omitempty" yaml:"max_io" is:"milli ..1000000" zero:"leave it out for no bound; deny_shares keeps work away" doc:"kB/s that the jobs that run here may read and write together, by what their tasks say; absent = no bound."`
	Labels         map[string]string `json:"labels,omitempty" is:"empty"`
	Containers     string            `json:"containers,omitempty" is:"word=containers" doc:"How jobs with an image are run: podman, docker or apptainer, options behind it, or a command with {{.Image}} and {{.Command}}; absent = they do not run here."`
	Locations      []string          `json:"locations,omitempty" is:"some most=1000 word=location" once:"location" hint:"leave it out, that means the same" doc:"Storages that jobs here are near to, beside one of the queue's own name."`
	AllowShares    []string          `json:"allow_shares,omitempty" is:"some most=1000 word=pattern" once:"pattern" hint:"leave it out, that means the same" doc:"Paths of shares, or globs of them, that run here with all below them; absent = all."`
	DenyShares     []string          `json:"deny_shares,omitempty" is:"some most=1000 word=pattern" once:"pattern" hint:"leave it out, that means the same" doc:"Those that do not run here, also of the allowed ones."`
	Prefer         string            `json:"prefer,omitempty" enum:",wide" doc:"wide: wide jobs go first within a leaf."`
	Provision      *pilots.Provision `json:"provision,omitempty" yaml:"provision" doc:"Pilots that may be started for it; absent = pilots come by themselves."`
}

// Capacity is slots × core power; ok is false when the queue has no limit.
func (q Queue) Capacity() (u Units, ok bool) {
	if q.Slots == nil {
		return 0, false
	}
	return Units(int64(*q.Slots) * q.CorePowerMilli), true
}

// Version is one applied state of tree and queues: what dispatcher, simulator and what-if work on.
type Version struct {
	Number         int64 // 0: nothing was ever applied; Tree then has a root only
	Tree           *Tree
	Queues         []Queue         // in file order
	Resources      []Resource      // in file order
	ClaimTemplates []ClaimTemplate // in file order

	Attempts *retry.Policy // what becomes of those that did not finish; nil: they are tried again
}

// Queue returns a queue; the zero Queue when there is none with this id.
func (v Version) Queue(id QueueID) (q Queue) {
	if i := slices.IndexFunc(v.Queues, func(q Queue) bool { return q.ID == id }); i >= 0 {
		q = v.Queues[i]
	}
	return q
}
