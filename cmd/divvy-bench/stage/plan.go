package stage

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/divvyhq/divvy/cmd/divvy-bench/load"
	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/generator"
	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/shares"
)

// IdleQueue is a queue that no job of the data set fits, for pilots that wait; every job needs more than it has, BaseMB.
const (
	IdleQueue = "idle"
	BaseMB    = 2000
)

// Plan is the site of a data set: a tree of three levels with different weights, queues that every job of the data
// set fits in some of.
type Plan struct {
	Tree   [3]int         // children of the root, of those, of these
	Cycle  int            // weights among siblings go from 1 to Cycle, again and again
	Most   map[string]int // max of a share, by path
	Queues int
	Slots  int  // of each queue
	Idle   bool // with IdleQueue
}

// Base is the site of the base data set.
var Base = Plan{Tree: [3]int{4, 5, 5}, Cycle: 5, Queues: 20, Slots: 1_000_000, Idle: true}

// Shares is how many there are that get jobs.
func (p Plan) Shares() int { return p.Tree[0] * p.Tree[1] * p.Tree[2] }

// File is the plan as a site file.
func (p Plan) File() string {
	var b strings.Builder
	b.WriteString("shares:\n")
	for i := range p.Tree[0] {
		top := fmt.Sprintf("a%d", i)
		fmt.Fprintf(&b, "  - name: %s\n    weight: %d\n%s    children:\n", top, 1+i%p.Cycle, p.max("    max: %d\n", top))
		for j := range p.Tree[1] {
			middle := fmt.Sprintf("%s/m%d", top, j)
			fmt.Fprintf(&b, "      - name: m%d\n        weight: %d\n%s        children:\n", j, 1+j%p.Cycle, p.max("        max: %d\n", middle))
			for k := range p.Tree[2] {
				fmt.Fprintf(&b, "          - {name: s%d, weight: %d%s}\n", k, 1+k%p.Cycle, p.max(", max: %d", fmt.Sprintf("%s/s%d", middle, k)))
			}
		}
	}
	b.WriteString("queues:\n")
	for i := range p.Queues {
		fmt.Fprintf(&b, "  - {name: %s, slots: %d, memory_mb: 8000, labels: {os: el%d}}\n", p.Queue(i), p.Slots, 8+i%2)
	}
	if p.Idle {
		fmt.Fprintf(&b, "  - {name: %s, slots: %d, memory_mb: %d}\n", IdleQueue, p.Slots, BaseMB/2)
	}
	return b.String()
}

// max writes the limit of a share, if it has one.
func (p Plan) max(format, path string) string {
	if n, ok := p.Most[path]; ok {
		return fmt.Sprintf(format, n)
	}
	return ""
}

// Queue is the name of a queue, counted round and round.
func (p Plan) Queue(i int) string { return fmt.Sprintf("q%02d", i%p.Queues) }

// Body is the pull of a pilot of so many slots; with ids its request id differs from exchange to exchange.
func (p Plan) Body(i, slots int, pilot string, wait float64, ids bool) string {
	req := dispatcher.PullRequest{Queue: p.Queue(i), Pilot: pilot, Node: fmt.Sprint("node", i/max(1, 8/slots)), Slot: job.Slot{Cores: slots}, Max: slots, WaitS: wait}
	if ids {
		req.RequestID = fmt.Sprintf("%d-%d-%s", time.Now().UnixNano(), i, load.IDPlace)
	}
	text, err := json.Marshal(req)
	if err != nil {
		panic(err) // a struct of ours
	}
	return string(text)
}

// IdlePolls is the load of connections that wait at the idle queue until its input ends.
func IdlePolls(address string, n int, waitS float64) load.Order {
	o := load.Order{Mode: load.Wait, Address: address}
	for i := range n {
		o.Bodies = append(o.Bodies, fmt.Sprintf(`{"queue":%q,"pilot":"w%d","slot":{"cores":1},"wait_s":%g}`, IdleQueue, i, waitS))
	}
	return o
}

// Shapes are the requirements in the data set: anywhere, by label, by a glob over names, and with more memory.
var Shapes = []spec.Spec{
	{},
	{Queues: []string{"os=el9"}},
	{Queues: []string{"q0*"}},
	{Requirements: spec.Requirements{MemoryMB: 2 * BaseMB}},
}

// Work is a task of the data set.
func Work(share string, s spec.Spec, n int) spec.Spec {
	if s.Requirements.MemoryMB == 0 {
		s.Requirements.MemoryMB = BaseMB
	}
	s.Name, s.User, s.Share = "bench-"+share, "bench", share
	s.Command = []string{"/bin/simulate", "--seed", "{{.Index}}", "--events", "1000", "--output", "out.{{.Index}}.root"}
	s.Env = map[string]string{"FRONTIER": "http://frontier.example:8000/conditions"}
	s.Count = int64(n)
	return s
}

// Tasks are n jobs of all shapes alike. With one shape, queues that may run two of the four would find nothing after some millions of
// claims: the oldest jobs go first.
func Tasks(n int, of []Leaf) (all []generator.SubmitRequest) {
	for i, shape := range Shapes {
		for k, count := range divide(portion(n, i, len(Shapes)), of) {
			if count > 0 {
				all = append(all, generator.SubmitRequest{Spec: Work(of[k].Path, shape, count)})
			}
		}
	}
	return all
}

// portion is the ith of so many parts of n.
func portion(n, i, parts int) int { return n*(i+1)/parts - n*i/parts }

// Leaf is a share that gets jobs, and its part of the whole by the weights.
type Leaf struct {
	Path string
	ID   shares.ShareID
	Part float64
}

// Leaves of a tree with their parts.
func Leaves(t *shares.Tree) (found []Leaf) {
	part := make([]float64, len(t.Nodes))
	part[0] = 1
	for i := range t.Nodes {
		var sum float64
		for _, c := range t.Nodes[i].Children {
			sum += t.Nodes[c].Plan.Weight
		}
		for _, c := range t.Nodes[i].Children {
			part[c] = part[i] * t.Nodes[c].Plan.Weight / sum
		}
		if i > 0 && t.Leaf(i) {
			found = append(found, Leaf{t.Nodes[i].Path, t.Nodes[i].ID, part[i]})
		}
	}
	return found
}

// divide gives n jobs to the leaves in proportion to their parts, so that all run dry together.
func divide(n int, among []Leaf) []int {
	counts := make([]int, len(among))
	var all, upTo float64
	for _, l := range among {
		all += l.Part
	}
	given := 0
	for i, l := range among {
		upTo += l.Part
		counts[i] = int(upTo/all*float64(n)+0.5) - given
		given += counts[i]
	}
	return counts
}
