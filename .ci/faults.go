// Faults makes the table of docs/guarantees.md out of what the plays of internal/e2e wrote (DIVVY_FAULTS): a JSON object a
// play. It rewrites what is between the two markers of the file.
//
//	go run .ci/faults.go RESULTS FILE
//
// Results of TestPatroni (DIVVY_FAILOVERS) make the table of failovers, between two markers of its own.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

// markers are the lines around a table.
type markers struct{ begin, end string }

var (
	ofFaults    = markers{"<!-- faults: written by make faults -->\n", "<!-- end of faults -->\n"}
	ofFailovers = markers{"<!-- failovers: written by make failovers -->\n", "<!-- end of failovers -->\n"}
)

// play is one line of the results.
type play struct {
	Fault, What string
	Seed        uint64
	Jobs        int
	Lost        int
	Double      int
	RecoveryMS  int64 `json:"recovery_ms"`
	Failed      bool

	// Of failovers only.
	Failover   bool
	PostgreSQL string
	AwayMS     int64 `json:"away_ms"`
	Answers503 int64 `json:"answers_503"`
	NoJobs     int   `json:"no_jobs"`
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: go run .ci/faults.go RESULTS FILE")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "faults:", err)
		os.Exit(1)
	}
}

func run(results, file string) error {
	from, err := os.Open(results)
	if err != nil {
		return err
	}
	defer from.Close()
	plays, err := read(from)
	if err != nil {
		return fmt.Errorf("%s: %w", results, err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	made, where := table, ofFaults
	if plays[0].Failover {
		made, where = failovers, ofFailovers
	}
	if text, err = rewrite(text, where, made(plays, time.Now())); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return os.WriteFile(file, text, 0o644)
}

func read(from io.Reader) (plays []play, err error) {
	for d := json.NewDecoder(from); ; {
		var p play
		switch err := d.Decode(&p); {
		case errors.Is(err, io.EOF) && len(plays) == 0:
			return nil, errors.New("no plays")
		case errors.Is(err, io.EOF):
			return plays, nil
		case err != nil:
			return nil, err
		case p.Failed:
			return nil, fmt.Errorf("%s with seed %d failed: mend what it found first", p.Fault, p.Seed)
		}
		plays = append(plays, p)
	}
}

func rewrite(text []byte, at markers, table string) ([]byte, error) {
	head, rest, ok := bytes.Cut(text, []byte(at.begin))
	_, tail, closed := bytes.Cut(rest, []byte(at.end))
	if !ok || !closed {
		return nil, fmt.Errorf("expected the lines %q and %q", strings.TrimSpace(at.begin), strings.TrimSpace(at.end))
	}
	return slices.Concat(head, []byte(at.begin), []byte(table), []byte(at.end), tail), nil
}

// table has a row a fault, in the order in which they come first.
func table(plays []play, at time.Time) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Measured %s.\n\n| fault | what | runs | seeds | jobs | lost | double | recovered after, median and longest |\n|---|---|---|---|---|---|---|---|\n",
		at.UTC().Format(time.DateOnly))
	rows, by := grouped(plays)
	for _, r := range rows {
		var jobs, lost, double int
		var seeds []string
		var took []int64
		for _, p := range by[r] {
			jobs, lost, double = jobs+p.Jobs, lost+p.Lost, double+p.Double
			seeds, took = append(seeds, fmt.Sprint(p.Seed)), append(took, p.RecoveryMS)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %d | %s | %d | %d | %d | %s |\n", r.fault, by[r][0].What, len(took), strings.Join(seeds, " "), jobs, lost, double, span(took))
	}
	return b.String()
}

// row is what plays of one row have in common.
type row struct{ postgresql, fault string }

// grouped are the plays of each row, and the rows in the order in which they come first.
func grouped(plays []play) (rows []row, by map[row][]play) {
	by = map[row][]play{}
	for _, p := range plays {
		r := row{p.PostgreSQL, p.Fault}
		if by[r] == nil {
			rows = append(rows, r)
		}
		by[r] = append(by[r], p)
	}
	return rows, by
}

// failovers is the table of what happened to a replicated database, with a row a version of PostgreSQL and fault.
func failovers(plays []play, at time.Time) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Measured %s.\n\n| PostgreSQL | fault | what | runs | jobs | database away, median and longest | service back after that | lost | double | answers 503 | wrong \"no jobs\" |\n"+
		"|---|---|---|---|---|---|---|---|---|---|---|\n", at.UTC().Format(time.DateOnly))
	rows, by := grouped(plays)
	for _, r := range rows {
		var sum play
		var away, back []int64
		for _, p := range by[r] {
			sum.Jobs, sum.Lost, sum.Double, sum.NoJobs, sum.Answers503 = sum.Jobs+p.Jobs, sum.Lost+p.Lost, sum.Double+p.Double, sum.NoJobs+p.NoJobs, sum.Answers503+p.Answers503
			away, back = append(away, p.AwayMS), append(back, p.RecoveryMS)
		}
		fmt.Fprintf(&b, "| %s | `%s` | %s | %d | %d | %s | %s | %d | %d | %d | %d |\n", r.postgresql, r.fault, by[r][0].What, len(away), sum.Jobs,
			span(away), span(back), sum.Lost, sum.Double, sum.Answers503, sum.NoJobs)
	}
	return b.String()
}

// span is median and longest of some milliseconds.
func span(ms []int64) string {
	slices.Sort(ms)
	return fmt.Sprintf("%.1f s, %.1f s", float64(ms[(len(ms)-1)/2])/1000, float64(ms[len(ms)-1])/1000)
}
