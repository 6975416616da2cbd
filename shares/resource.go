package shares

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Resource is something scarce that jobs hold whole units of while they have a lease: licences, connections, special nodes.
// Its units are split over sharing IDs (sharing.md §4). Start from DefaultResource.
type Resource struct {
	Name            string           `yaml:"name" is:"required word=resource"`
	Capacity        int64            `yaml:"capacity" is:"required ..1000000000"` // units; of one queue with PerQueue, of one key with Keyed
	PerQueue        bool             // every queue has units of its own
	Of              map[string]int64 // with PerQueue: only these queues have units of their own, so many; nil: all have Capacity
	Split           Split            `yaml:"split"`                         // how the units are shared out
	Keyed           bool             `yaml:"keyed"`                         // a family: table:orders and table:users have units of their own, none is listed
	MaxBypass       int              `yaml:"max_bypass" is:"1..1000000000"` // grants that may pass a shape that one of several resources keeps back, before it gets a reservation
	MaxHold         time.Duration    `yaml:"max_hold"`                      // how long a free unit may be kept for an ID that cannot use it yet
	Settle          time.Duration    `yaml:"settle"`                        // after this the figures of a report from outside have what we hold in them
	ExternalExpires time.Duration    `yaml:"external_expires" is:"1s.."`    // older reports from outside do not count
	Exempt          []string         `yaml:"exempt"`                        // sharing IDs that only the capacity bounds
	Live            []LiveCapacity   // capacities set beside the file, which go before Capacity
}

// LiveCapacity is a capacity that was set while the site works, until it is reset.
type LiveCapacity struct {
	Key      string // of a family; "": of all keys
	Queue    string // of a resource per queue; "": of all queues
	Capacity int64
}

// Split says how the units of a resource are shared out: evenly over the IDs, by Weights, or by Tree.
type Split struct {
	By      string             `yaml:"by" enum:"user,share,label"` // what the sharing ID of a job is: user (which a task may replace by its sharing_id), share, label or none
	Weights map[string]float64 `yaml:"weights"`                    // of IDs; Others: of each that is not named, which otherwise weighs 1
	Tree    []SplitNode        `yaml:"tree" is:"most=10000"`
}

// SplitNode is a node of the tree that the units of a resource go down by, as those of a pool go down the share tree.
type SplitNode struct {
	Name     string      `yaml:"name" is:"required"`                                                                           // of a leaf: a sharing ID, or Others
	Weight   float64     `yaml:"weight"`                                                                                       // among its siblings
	Children []SplitNode `yaml:"children" is:"some most=10000" hint:"leave it out: a node without children is one sharing ID"` // none: a leaf
}

// What a resource is split by.
const (
	SplitByUser  = "user"
	SplitByShare = "share"
	SplitByLabel = "label"
	SplitByNone  = "none" // all users are one ID; no resource of a file is split so
)

// Others stands for every ID that weights or tree do not name: each has the weight that Others has, and in a tree stands
// where it stands. Without it each weighs 1, and in a tree stands beside the nodes at the top.
const Others = "*"

// DefaultResource is a resource that says nothing: no unit, split evenly over users.
func DefaultResource() Resource {
	return Resource{Split: Split{By: SplitByUser}, MaxBypass: 100, MaxHold: time.Minute, Settle: time.Minute, ExternalExpires: 10 * time.Minute}
}

// CutResource takes apart what a job asks for: the name of a resource, and the key of a family, as in table:orders.
func CutResource(ref string) (name, key string) {
	name, key, _ = strings.Cut(ref, ":")
	return name, key
}

// CapacityAt is the capacity in force of a key ("" without Keyed) at a queue ("" without PerQueue): what was set for just
// this, else for the key, else for the queue, else for the resource, else what the file says.
func (r Resource) CapacityAt(key, queue string) int64 {
	for _, at := range []LiveCapacity{{Key: key, Queue: queue}, {Key: key}, {Queue: queue}, {}} {
		i := slices.IndexFunc(r.Live, func(l LiveCapacity) bool { return l.Key == at.Key && l.Queue == at.Queue })
		if i >= 0 {
			return r.Live[i].Capacity
		}
	}
	if n, own := r.Of[queue]; own {
		return n
	}
	return r.Capacity
}

// ClaimTemplate is what jobs that share a claim hold together (sharing.md §5).
type ClaimTemplate struct {
	Name       string           `yaml:"name" is:"required word=template"`
	Resources  map[string]int64 `yaml:"resources" is:"1..1000000000"`     // units, charged once for all sharers
	Node       bool             `yaml:"node"`                             // the sharers run on one node
	Devices    map[string]int   `yaml:"devices" is:"1..1000 keys=device"` // of that node, by kind
	MaxSharers int              `yaml:"max_sharers" is:"1..1000000"`      // jobs that hold it at a time; 0: no bound
	Linger     time.Duration    `yaml:"linger" is:"..24h"`                // how long it stays bound without holders
	Gang       bool             `yaml:"gang"`                             // a group starts when all of it fits on the node
}

// DefaultLinger is the Linger of a template that says nothing.
const DefaultLinger = time.Minute

// Resource finds what a job asks for by its reference; ok says whether there is such a resource, and whether it has a key
// just when the resource is a family.
func (v Version) Resource(ref string) (r Resource, ok bool) {
	name, key := CutResource(ref)
	i := slices.IndexFunc(v.Resources, func(r Resource) bool { return r.Name == name })
	if i < 0 {
		return Resource{}, false
	}
	return v.Resources[i], v.Resources[i].Keyed == (key != "") && (key != "" || !strings.Contains(ref, ":"))
}

// NoResource says what is wrong with a reference of which Resource finds nothing.
func (v Version) NoResource(ref string) string {
	name, key := CutResource(ref)
	i := slices.IndexFunc(v.Resources, func(r Resource) bool { return r.Name == name })
	switch {
	case i < 0, v.Resources[i].BuiltIn() && key == "":
		return fmt.Sprintf("no resource is called %q", name)
	case v.Resources[i].Keyed && key == "":
		return fmt.Sprintf("%s is a keyed family, which one is missing: %s:orders", name, name)
	}
	return fmt.Sprintf("%s is not keyed: leave :%s out", name, key)
}

// mostNamed bounds the resources that an error message names.
const mostNamed = 20

// ResourceNames lists the resources for an error message, as jobs ask for them.
func (v Version) ResourceNames() string {
	var names []string
	for _, r := range v.Resources {
		switch {
		case r.BuiltIn():
		case len(names) == mostNamed:
			return strings.Join(append(names, "…"), ", ")
		case r.Keyed:
			names = append(names, r.Name+":<key>")
		default:
			names = append(names, r.Name)
		}
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
