// Faults makes docs/faults.csv out of what the plays of internal/e2e wrote (DIVVY_FAULTS): a JSON object a play.
//
//	go run .ci/faults.go RESULTS FILE
//
// Results of TestPatroni (DIVVY_FAILOVERS) make docs/failovers.csv.
package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
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
	made := table
	if plays[0].Failover {
		made = failovers
	}
	var text bytes.Buffer
	if err := csv.NewWriter(&text).WriteAll(made(plays, time.Now())); err != nil {
		return err
	}
	return os.WriteFile(file, text.Bytes(), 0o644)
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

// table has a row a fault, in the order in which they come first.
func table(plays []play, at time.Time) [][]string {
	all := [][]string{{"fault", "what", "runs", "seeds", "jobs", "lost", "double", "recovered after, median", "longest", "measured"}}
	rows, by := grouped(plays)
	for _, r := range rows {
		var jobs, lost, double int
		var seeds []string
		var took []int64
		for _, p := range by[r] {
			jobs, lost, double = jobs+p.Jobs, lost+p.Lost, double+p.Double
			seeds, took = append(seeds, fmt.Sprint(p.Seed)), append(took, p.RecoveryMS)
		}
		median, longest := span(took)
		all = append(all, []string{r.fault, by[r][0].What, fmt.Sprint(len(took)), strings.Join(seeds, " "), fmt.Sprint(jobs), fmt.Sprint(lost), fmt.Sprint(double),
			median, longest, at.UTC().Format(time.DateOnly)})
	}
	return all
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
func failovers(plays []play, at time.Time) [][]string {
	all := [][]string{{"PostgreSQL", "fault", "what", "runs", "jobs", "database away, median", "longest", "service back after that, median", "longest",
		"lost", "double", "answers 503", "wrong no jobs", "measured"}}
	rows, by := grouped(plays)
	for _, r := range rows {
		var sum play
		var away, back []int64
		for _, p := range by[r] {
			sum.Jobs, sum.Lost, sum.Double, sum.NoJobs, sum.Answers503 = sum.Jobs+p.Jobs, sum.Lost+p.Lost, sum.Double+p.Double, sum.NoJobs+p.NoJobs, sum.Answers503+p.Answers503
			away, back = append(away, p.AwayMS), append(back, p.RecoveryMS)
		}
		awayMedian, awayLongest := span(away)
		backMedian, backLongest := span(back)
		all = append(all, []string{r.postgresql, r.fault, by[r][0].What, fmt.Sprint(len(away)), fmt.Sprint(sum.Jobs), awayMedian, awayLongest, backMedian, backLongest,
			fmt.Sprint(sum.Lost), fmt.Sprint(sum.Double), fmt.Sprint(sum.Answers503), fmt.Sprint(sum.NoJobs), at.UTC().Format(time.DateOnly)})
	}
	return all
}

// span is median and longest of some milliseconds.
func span(ms []int64) (median, longest string) {
	slices.Sort(ms)
	return fmt.Sprintf("%.1f s", float64(ms[(len(ms)-1)/2])/1000), fmt.Sprintf("%.1f s", float64(ms[len(ms)-1])/1000)
}
