// Tally reads what `go test -json` prints, writes what a person wants to read of it, and adds the counts to a file, and what
// failed to one beside it (FILE.failed).
//
//	go test -json ./... | tally -totals FILE [-package 3m] [-test 1m] NAME
//
// A test or subtest that passed counts as passed. Failed are: a test that failed, a package that does not build or
// whose test binary died outside of any test, and a test that was skipped for want of something that CI should
// have (a database, an engine, the time that -short saves). Exits with 1 when something failed or nothing ran.
//
// A package that takes longer than -package, or a test longer than -test, is named, for go test ./... is to stay quick. It has not failed:
// on a machine that others use too, time is no test.
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"
)

// event is a line of test2json; see `go doc test2json`.
type event struct {
	Action, Package, ImportPath, Test, Output string
	Elapsed                                   float64
}

// wanting matches the reasons for a skip that are a fault of the place where the tests run.
var wanting = regexp.MustCompile(`(?i)postgres|database|needs a server|docker|engine|short|not in this clone`)

// tally is what was counted so far, and the output of the tests that have not ended yet.
type tally struct {
	to                      io.Writer
	passed, failed, skipped int
	failedIn                map[string]int // by package
	output                  map[string][]string
	said                    []string // of each failure what it was, and the end of what it printed

	mostPackage, mostTest time.Duration // 0: as long as they like
	slowest               []event       // tests of the package that runs, and of those beside it
}

func (t *tally) read(from io.Reader) error {
	t.failedIn, t.output = map[string]int{}, map[string][]string{}
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil || e.Action == "" {
			fmt.Fprintln(t.to, lines.Text()) // not from a test: go's own complaint
			continue
		}
		t.add(e)
	}
	return lines.Err()
}

func (t *tally) add(e event) {
	key := cmp.Or(e.Package, e.ImportPath) + " " + e.Test
	switch e.Action {
	case "output", "build-output":
		t.output[key] = append(t.output[key], e.Output)
	case "pass", "fail", "skip":
		if e.Test == "" {
			t.endPackage(e, key)
		} else {
			t.endTest(e, key)
		}
		delete(t.output, key)
	case "build-fail":
		t.print(key)
	}
}

func (t *tally) endTest(e event, key string) {
	if !strings.Contains(e.Test, "/") {
		t.slowest = append(t.slowest, e)
	}
	switch {
	case e.Action == "pass" && over(e, t.mostTest):
		t.passed++
		fmt.Fprintf(t.to, "SLOW: %s %s took %.1f s of %v\n", e.Package, e.Test, e.Elapsed, t.mostTest)
	case e.Action == "pass":
		t.passed++
	case e.Action == "fail":
		t.fail(e.Package)
		t.note(e, key)
		fmt.Fprintf(t.to, "FAILED %s %s\n", e.Package, e.Test)
		t.print(key)
	case slices.ContainsFunc(t.output[key], wanting.MatchString):
		t.fail(e.Package)
		fmt.Fprintf(t.to, "SKIPPED, which counts as failed: %s %s\n", e.Package, e.Test)
		t.print(key)
	default:
		t.skipped++
		fmt.Fprintf(t.to, "skipped %s %s\n", e.Package, e.Test)
		t.print(key)
	}
}

func (t *tally) endPackage(e event, key string) {
	if e.Action == "fail" && t.failedIn[e.Package] == 0 {
		t.fail(e.Package) // it did not build, or died: no test says so
		t.note(e, key)
		t.print(key)
	}
	if e.Action != "skip" { // skip: no test files
		fmt.Fprintf(t.to, "%-5s %-60s %6.1f s\n", e.Action, e.Package, e.Elapsed)
	}
	if e.Action == "pass" && over(e, t.mostPackage) {
		fmt.Fprintf(t.to, "SLOW: %s took %.1f s of %v; its slowest tests:\n", e.Package, e.Elapsed, t.mostPackage)
		for _, slow := range t.slowestOf(e.Package, 10) {
			fmt.Fprintf(t.to, "    %6.1f s %s\n", slow.Elapsed, slow.Test)
		}
	}
	t.slowest = slices.DeleteFunc(t.slowest, func(of event) bool { return of.Package == e.Package })
}

// over says whether something took longer than it may.
func over(e event, most time.Duration) bool { return most > 0 && e.Elapsed > most.Seconds() }

// slowestOf are a package's slowest tests, the slowest first.
func (t *tally) slowestOf(pkg string, n int) []event {
	of := slices.DeleteFunc(slices.Clone(t.slowest), func(e event) bool { return e.Package != pkg })
	slices.SortStableFunc(of, func(a, b event) int { return cmp.Compare(b.Elapsed, a.Elapsed) })
	return of[:min(n, len(of))]
}

func (t *tally) fail(pkg string) {
	t.failed++
	t.failedIn[pkg]++
}

// note keeps a failure for the end of the run: CI's record has long outputs without their middle.
func (t *tally) note(e event, key string) {
	lines := t.output[key]
	t.said = append(t.said, fmt.Sprintf("FAILED %s %s\n    %s", e.Package, e.Test, strings.Join(lines[max(0, len(lines)-30):], "    ")))
}

func (t *tally) print(key string) {
	for _, o := range t.output[key] {
		if !strings.HasPrefix(o, "=== ") {
			fmt.Fprint(t.to, "    ", o)
		}
	}
	delete(t.output, key)
}

func main() {
	totals := flag.String("totals", "", "file that gets a line with the counts")
	t := &tally{to: os.Stdout}
	flag.DurationVar(&t.mostPackage, "package", 0, "what the tests of a package may take")
	flag.DurationVar(&t.mostTest, "test", 0, "what a test may take")
	flag.Parse()
	if err := t.read(os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, "tally:", err)
		os.Exit(1)
	}
	fmt.Printf("%s: %d passed, %d failed, %d skipped\n", flag.Arg(0), t.passed, t.failed, t.skipped)
	if t.passed+t.failed == 0 {
		fmt.Println("tally: no test ran")
		t.failed = 1
	}
	if *totals != "" {
		err := record(*totals, fmt.Sprintln(t.passed, t.failed))
		if err == nil && len(t.said) > 0 {
			err = record(*totals+".failed", strings.Join(t.said, ""))
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "tally:", err)
			os.Exit(1)
		}
	}
	if t.failed > 0 {
		os.Exit(1)
	}
}

func record(file, text string) error {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return cmp.Or(err, f.Close())
}
