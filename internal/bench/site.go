package bench

import (
	"fmt"
	"strings"

	"github.com/divvyhq/divvy/generator"
	"github.com/divvyhq/divvy/shares"
)

// The site of a run: 4 x 5 x 5 shares of different weights, twenty queues that all jobs of the base data set fit
// in some of, and one queue that none of them fits, for pilots that wait.
const (
	queues    = 20
	idleQueue = "idle"
	baseMB    = 2000 // what every job of the data set needs; more than the idle queue has
)

func siteFile() string {
	var b strings.Builder
	b.WriteString("shares:\n")
	for i := range 4 {
		fmt.Fprintf(&b, "  - name: a%d\n    weight: %d\n    children:\n", i, 1+i)
		for j := range 5 {
			fmt.Fprintf(&b, "      - name: m%d\n        weight: %d\n        children:\n", j, 1+j)
			for k := range 5 {
				fmt.Fprintf(&b, "          - {name: s%d, weight: %d}\n", k, 1+k)
			}
		}
	}
	b.WriteString("queues:\n")
	for i := range queues {
		fmt.Fprintf(&b, "  - {name: %s, slots: 1000000, memory_mb: 8000, labels: {os: el%d}}\n", queueName(i), 8+i%2)
	}
	fmt.Fprintf(&b, "  - {name: %s, slots: 1000000, memory_mb: %d}\n", idleQueue, baseMB/2)
	return b.String()
}

func queueName(i int) string { return fmt.Sprintf("q%02d", i%queues) }

// shapes are the requirements in the data set: anywhere, by label, by a glob over names, and with more memory.
var shapes = []generator.Spec{
	{},
	{Queues: []string{"os=el9"}},
	{Queues: []string{"q0*"}},
	{Requirements: generator.Requirements{MemoryMB: 2 * baseMB}},
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
	var upTo float64
	given := 0
	for i, l := range among {
		upTo += l.part
		counts[i] = int(upTo*float64(n)+0.5) - given
		given += counts[i]
	}
	return counts
}

// work is a task of the data set.
func work(share string, shape, n int) generator.Spec {
	spec := shapes[shape%nShapes]
	if spec.Requirements.MemoryMB == 0 {
		spec.Requirements.MemoryMB = baseMB
	}
	spec.Name, spec.User, spec.Share = fmt.Sprintf("bench-%s-%d", share, shape), "bench", share
	spec.Command = []string{"/bin/simulate", "--seed", "{{.Index}}", "--events", "1000", "--output", "out.{{.Index}}.root"}
	spec.Env = map[string]string{"FRONTIER": "http://frontier.example:8000/conditions"}
	spec.Count = int64(n)
	return spec
}
