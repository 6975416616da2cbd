package suite

import (
	"fmt"
	"strings"

	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/shares"
)

const (
	queues    = 20
	idleQueue = "idle"
	baseMB    = 2000 // what every job of the data set needs; more than the idle queue has
)

// plan is the site of a data set: a tree of three levels with different weights, queues that every job of the data
// set fits in some of, and one that none of them fits, for pilots that wait.
type plan struct {
	tree   [3]int         // children of the root, of those, of these
	cycle  int            // weights among siblings go from 1 to cycle, again and again
	most   map[string]int // max of a share, by path
	queues int
	slots  int  // of each queue
	idle   bool // with the queue for pilots that wait
}

// basePlan is the site of the base data set.
var basePlan = plan{tree: [3]int{4, 5, 5}, cycle: 5, queues: queues, slots: 1_000_000, idle: true}

func siteFile() string { return basePlan.file() }

// file is the plan as a site file.
func (p plan) file() string {
	var b strings.Builder
	b.WriteString("shares:\n")
	for i := range p.tree[0] {
		top := fmt.Sprintf("a%d", i)
		fmt.Fprintf(&b, "  - name: %s\n    weight: %d\n%s    children:\n", top, 1+i%p.cycle, p.max("    max: %d\n", top))
		for j := range p.tree[1] {
			middle := fmt.Sprintf("%s/m%d", top, j)
			fmt.Fprintf(&b, "      - name: m%d\n        weight: %d\n%s        children:\n", j, 1+j%p.cycle, p.max("        max: %d\n", middle))
			for k := range p.tree[2] {
				fmt.Fprintf(&b, "          - {name: s%d, weight: %d%s}\n", k, 1+k%p.cycle, p.max(", max: %d", fmt.Sprintf("%s/s%d", middle, k)))
			}
		}
	}
	b.WriteString("queues:\n")
	for i := range p.queues {
		fmt.Fprintf(&b, "  - {name: %s, slots: %d, memory_mb: 8000, labels: {os: el%d}}\n", p.queue(i), p.slots, 8+i%2)
	}
	if p.idle {
		fmt.Fprintf(&b, "  - {name: %s, slots: %d, memory_mb: %d}\n", idleQueue, p.slots, baseMB/2)
	}
	return b.String()
}

// max writes the limit of a share, if it has one.
func (p plan) max(format, path string) string {
	if n, ok := p.most[path]; ok {
		return fmt.Sprintf(format, n)
	}
	return ""
}

func (p plan) queue(i int) string { return fmt.Sprintf("q%02d", i%p.queues) }

func queueName(i int) string { return basePlan.queue(i) }

// shapes are the requirements in the data set: anywhere, by label, by a glob over names, and with more memory.
var shapes = []spec.Spec{
	{},
	{Queues: []string{"os=el9"}},
	{Queues: []string{"q0*"}},
	{Requirements: spec.Requirements{MemoryMB: 2 * baseMB}},
}

const nShapes = 4

// leaf is a share that gets jobs, and its part of the whole by the weights.
type leaf struct {
	path string
	id   shares.ShareID
	part float64
}

// leaves of a tree with their parts.
func leaves(t *shares.Tree) []leaf {
	part := make([]float64, len(t.Nodes))
	part[0] = 1
	var found []leaf
	for i := range t.Nodes {
		var sum float64
		for _, c := range t.Nodes[i].Children {
			sum += t.Nodes[c].Plan.Weight
		}
		for _, c := range t.Nodes[i].Children {
			part[c] = part[i] * t.Nodes[c].Plan.Weight / sum
		}
		if i > 0 && t.Leaf(i) {
			found = append(found, leaf{t.Nodes[i].Path, t.Nodes[i].ID, part[i]})
		}
	}
	return found
}

// divide gives n jobs to the leaves in proportion to their parts, so that all run dry together.
func divide(n int, among []leaf) []int {
	counts := make([]int, len(among))
	var all, upTo float64
	for _, l := range among {
		all += l.part
	}
	given := 0
	for i, l := range among {
		upTo += l.part
		counts[i] = int(upTo/all*float64(n)+0.5) - given
		given += counts[i]
	}
	return counts
}

// work is a task of the data set.
func work(share string, s spec.Spec, n int) spec.Spec {
	if s.Requirements.MemoryMB == 0 {
		s.Requirements.MemoryMB = baseMB
	}
	s.Name, s.User, s.Share = "bench-"+share, "bench", share
	s.Command = []string{"/bin/simulate", "--seed", "{{.Index}}", "--events", "1000", "--output", "out.{{.Index}}.root"}
	s.Env = map[string]string{"FRONTIER": "http://frontier.example:8000/conditions"}
	s.Count = int64(n)
	return s
}
