package suite

import (
	"fmt"
	"slices"
	"strings"
)

// Measurement is one line of the table of targets.
type Measurement struct {
	ID    string `json:"id"`
	Title string `json:"title"`
}

// Measurements lists the targets of the design, in their order.
func Measurements() []Measurement {
	return []Measurement{
		{"S1", "claims in process, one job a pull, against pgbench's one claim a transaction"},
		{"S2", "claims over HTTP, one job a pull, against an empty handler under the same load"},
		{"S3", "whole life over HTTP against River's own bench"},
		{"S4", "p99 of a claim at half of the top rate; p99 of waking an idle long poll"},
		{"S5", "growth: 10 M ready, 1 M held, 1000 shares x 1000 queues, four daemons"},
		{"S6", "10 M claims under a snapshot held open"},
		{"S7", "1 M leases renewed every minute beside claims"},
		{"S8", "generation of ready jobs, alone and beside claims; submission of 1 M inputs over HTTP"},
		{"S9", "memory, CPU a claim and start of the daemon at 10 M ready"},
		{"S10", "claims in process against PanDA's way on the same data"},
		{"S11", "bytes of WAL of a whole life, with one renewal and with ten; bytes of disk of a job that is over"},
		{"S12", "processor time of daemon and PostgreSQL while nothing happens, and at a site of 20,000 slots with jobs of ten minutes"},
	}
}

// reached is the worst that came out on machines like that of docs/performance.md where it is short of the target, by id and
// quantity: single rounds scatter.
var reached = map[string]float64{
	"S1 ratio": 3, "S4 claim_p99_ms": 39, "S5 daemons_ratio": 0.45, "S7 renewed_p99_ms": 22, "S9 cpu_us_a_claim": 117, "S12 busy_percent": 20,
}

// selection is the measurements of a run.
type selection map[string]bool

// choose resolves what --only says; nothing said means all.
func choose(only []string) (selection, error) {
	all := Measurements()
	chosen := selection{}
	for _, m := range all {
		if len(only) == 0 {
			chosen[m.ID] = true
		}
	}
	for _, id := range only {
		id = strings.ToUpper(strings.TrimSpace(id))
		i := slices.IndexFunc(all, func(m Measurement) bool { return m.ID == id })
		if i < 0 {
			return nil, fmt.Errorf("no measurement %q: there are S1 to S12", id)
		}
		chosen[id] = true
	}
	return chosen, nil
}

// any says whether one of the ids is chosen.
func (s selection) any(ids ...string) bool {
	return slices.ContainsFunc(ids, func(id string) bool { return s[id] })
}
