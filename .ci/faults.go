// Faults makes the table of docs/guarantees.md out of what the plays of internal/e2e wrote (DIVVY_FAULTS): a JSON object a
// play. It rewrites what is between the two markers of the file.
//
//	go run .ci/faults.go RESULTS FILE
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

const (
	begin = "<!-- faults: written by make faults -->\n"
	end   = "<!-- end of faults -->\n"
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
	if text, err = rewrite(text, table(plays, time.Now())); err != nil {
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

func rewrite(text []byte, table string) ([]byte, error) {
	head, rest, ok := bytes.Cut(text, []byte(begin))
	_, tail, closed := bytes.Cut(rest, []byte(end))
	if !ok || !closed {
		return nil, fmt.Errorf("expected the lines %q and %q", strings.TrimSpace(begin), strings.TrimSpace(end))
	}
	return slices.Concat(head, []byte(begin), []byte(table), []byte(end), tail), nil
}

// table has a row a fault, in the order in which they come first.
func table(plays []play, at time.Time) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Measured %s.\n\n| fault | what | runs | seeds | jobs | lost | double | recovered after, median and longest |\n|---|---|---|---|---|---|---|---|\n",
		at.UTC().Format(time.DateOnly))
	var names []string
	by := map[string][]play{}
	for _, p := range plays {
		if by[p.Fault] == nil {
			names = append(names, p.Fault)
		}
		by[p.Fault] = append(by[p.Fault], p)
	}
	for _, name := range names {
		var jobs, lost, double int
		var seeds []string
		var took []int64
		for _, p := range by[name] {
			jobs, lost, double = jobs+p.Jobs, lost+p.Lost, double+p.Double
			seeds, took = append(seeds, fmt.Sprint(p.Seed)), append(took, p.RecoveryMS)
		}
		slices.Sort(took)
		fmt.Fprintf(&b, "| `%s` | %s | %d | %s | %d | %d | %d | %.1f s, %.1f s |\n", name, by[name][0].What, len(took), strings.Join(seeds, " "), jobs, lost, double,
			float64(took[(len(took)-1)/2])/1000, float64(took[len(took)-1])/1000)
	}
	return b.String()
}
