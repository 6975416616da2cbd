package replay

import (
	"strings"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/explain"
	"github.com/divvyhq/divvy/dispatcher/gate"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/shares"
)

// Decided is a decision: who got a slot, who was next, and how both stood.
type Decided struct {
	N          int64             `json:"n" doc:"Its number at the daemon that made it."`
	At         time.Time         `json:"at"`
	Job        int64             `json:"job"`
	Attempt    int               `json:"attempt"`
	Task       int64             `json:"task"`
	Queue      string            `json:"queue"`
	Pilot      string            `json:"pilot"`
	Node       string            `json:"node,omitempty"`
	Share      string            `json:"share" doc:"Share that got the slot."`
	Deficit    float64           `json:"deficit" doc:"target - held before the grant, where the paths of winner and runner-up part."`
	RunnerUp   string            `json:"runner_up,omitempty" doc:"Share that would have got it else; absent = no other had a job for the slot."`
	Second     *float64          `json:"runner_up_deficit,omitempty"`
	Units      float64           `json:"units" doc:"Units that the job is charged."`
	Round      float64           `json:"round" doc:"R that the targets were solved for."`
	Candidates int               `json:"candidates" doc:"Shares with a job for the slot."`
	Unfit      int               `json:"unfit" doc:"Shares that were skipped: none of their ready jobs fits the slot."`
	Barred     int               `json:"barred" doc:"Shares that were skipped: a limit kept their jobs for the slot back."`
	Skipped    []explain.Skipped `json:"skipped,omitempty" doc:"The first eight of the skipped shares that would have got the slot before the winner."`
	Rule
}

// Rule is by what a decision was made.
type Rule struct {
	Floor   bool  `json:"floor,omitempty" doc:"The winner came before its turn: the queue has a floor for it."`
	Owed    bool  `json:"-"` // the winner came before its turn: units had been reclaimed for it
	Weight  int   `json:"weight" doc:"Decisions that it stands for: itself and those before it that are not listed."`
	Version int64 `json:"version" doc:"Site version in force."`
}

// NewDecided is a grant with its contest, by the site that it was decided by.
func NewDecided(at time.Time, g entry.Granted, c machine.Contest, site shares.Version) Decided {
	nodes := site.Tree.Nodes
	d := Decided{At: at.UTC(), Job: g.Job, Attempt: int(g.Attempt), Task: g.Task, Queue: site.Queue(g.Queue).Name, Pilot: g.Pilot, Node: g.Node,
		Units: g.Units.Float(), Round: c.Round.Float(),
		Candidates: c.Candidates, Unfit: c.Unfit, Barred: c.Barred, Deficit: c.Deficit / 1000,
		Rule: Rule{Floor: c.Rule == "floor", Owed: c.Rule == "owed", Weight: 1, Version: site.Number}}
	if node, ok := site.Tree.ByID(g.Share); ok {
		d.Share = nodes[node].Path
	}
	if c.Rule != "" && c.RunnerUp >= 0 {
		second := c.RunnerUpDeficit / 1000
		d.RunnerUp, d.Second = nodes[c.RunnerUp].Path, &second
	}
	for _, s := range c.Skipped {
		d.Skipped = append(d.Skipped, explain.Skipped{Share: nodes[s.Leaf].Path, Reason: reason(s.Gate)})
	}
	return d
}

// reason is the word for the gate that kept a share back.
func reason(g gate.Gate) string {
	switch {
	case g == "":
		return "unfit"
	case g == gate.Max, g == gate.Targets:
		return "max"
	case strings.HasPrefix(string(g), "resource"):
		return "resource"
	}
	return string(g)
}

// Decided makes the decision again and returns what it was; false when the machine does not come to the same job, or does not know what
// the pull asked for.
func (t *Turn) Decided() (Decided, machine.Contest, bool) {
	if !t.Known {
		return Decided{}, machine.Contest{}, false
	}
	l := t.Look(true)
	if l.Verdict != machine.Given || l.Grant.Job != t.Grant.Job {
		return Decided{}, machine.Contest{}, false
	}
	return NewDecided(t.At, t.Grant, l.Contest, t.player.machine.Site()), l.Contest, true
}

// NewRecord is a decision as the explanation of its job has it.
func NewRecord(t *Turn, d Decided, c machine.Contest) (r *explain.Record, levels []explain.DecisionLevel) {
	r = &explain.Record{At: d.At, Units: d.Units, Round: d.Round, Candidates: d.Candidates, Unfit: d.Unfit, Barred: d.Barred, Skipped: d.Skipped,
		SlotCores: t.Pull.Slot.Cores, Daemon: t.By, Seq: t.Seq, Winner: d.Share, RunnerUp: d.RunnerUp, Floor: d.Floor}
	won, second := strings.Split(d.Share, "/"), strings.Split(d.RunnerUp, "/")
	if d.RunnerUp == "" {
		second = nil
	}
	for i := range won {
		level := explain.DecisionLevel{Share: strings.Join(won[:i+1], "/")}
		if i < len(c.Trail) {
			deficit := c.Trail[i] / 1000
			level.Deficit = &deficit
		}
		if i < len(second) && r.Parted == 0 {
			level.RunnerUp, level.RunnerUpDeficit = strings.Join(second[:i+1], "/"), level.Deficit
			if won[i] != second[i] {
				r.Parted = i + 1
				level.Deficit, level.RunnerUpDeficit = &d.Deficit, d.Second
			}
		}
		levels = append(levels, level)
	}
	return r, levels
}
