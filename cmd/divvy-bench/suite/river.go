package suite

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/divvyhq/divvy/cmd/divvy-bench/figure"
	"github.com/divvyhq/divvy/cmd/divvy-bench/stage"
)

// river is the floor of S3: the program of cmd/divvy-bench/river, on a database of its own beside divvy's.
type river struct {
	r        *run
	folder   string // of the built program
	dsn      string
	database string
	version  string
}

// riverFolder is where River's program is in the source tree: a module of its own, which the product does not know.
const riverFolder = "cmd/divvy-bench/river"

// riverFastest is how many jobs a second River is not expected to exceed: its round ends when its table runs dry.
const riverFastest = 40_000

// newRiver builds the program and makes its database. A *figure.Unmeasured says that this is not possible here.
func newRiver(ctx context.Context, r *run) (f *river, err error) {
	at, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	source, ok := sourceTree(at)
	if !ok {
		return nil, &figure.Unmeasured{Why: "River is built out of divvy's source tree; run divvy-bench inside of it (there is none at " + at + " or above)"}
	}
	f = &river{r: r, database: "divvy_bench_river_" + strings.ToLower(rand.Text()[:10])}
	if f.folder, err = os.MkdirTemp("", "divvy-bench-"); err != nil {
		return nil, err
	}
	r.Book.Say("building River's program")
	if err = f.build(ctx, filepath.Join(source, riverFolder)); err == nil {
		f.dsn, err = stage.WithDatabase(r.Place.DSN, f.database)
	}
	if err == nil {
		_, err = r.Place.Pool.Exec(ctx, "CREATE DATABASE "+f.database)
	}
	if err != nil {
		os.RemoveAll(f.folder)
		return nil, err
	}
	r.Book.Command("(cd %s && GOWORK=off go build -o river . && ./river <<<'%s')", riverFolder, f.order("$DSN"))
	return f, nil
}

var moduleLine = regexp.MustCompile(`(?m)^module\s+github\.com/divvyhq/divvy\s*$`)

// sourceTree is the folder, from this one upwards, that holds divvy's sources with River's program.
func sourceTree(from string) (root string, ok bool) {
	for {
		text, err := os.ReadFile(filepath.Join(from, "go.mod"))
		if err == nil && moduleLine.Match(text) {
			_, err := os.Stat(filepath.Join(from, riverFolder, "go.mod"))
			return from, err == nil
		}
		up := filepath.Dir(from)
		if up == from {
			return "", false
		}
		from = up
	}
}

func (f *river) program() string { return filepath.Join(f.folder, "river") }

// build compiles the program. What it needs is named in its own go.mod and go.sum.
func (f *river) build(ctx context.Context, source string) error {
	compiler, err := exec.LookPath("go")
	if err != nil {
		return &figure.Unmeasured{Why: "River has to be built, and there is no go command here"}
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, compiler, "build", "-o", f.program(), ".")
	cmd.Dir, cmd.Env = source, append(os.Environ(), "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return &figure.Unmeasured{Why: fmt.Sprintf("River cannot be built: %v: %s", err, bytes.TrimSpace(out))}
	}
	return nil
}

// remove drops the database and what was built.
func (f *river) remove(ctx context.Context) {
	os.RemoveAll(f.folder)
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if _, err := f.r.Place.Pool.Exec(ctx, "DROP DATABASE IF EXISTS "+f.database+" WITH (FORCE)"); err != nil {
		f.r.Book.Say("River's database %s is still there: %v", f.database, err)
	}
}

// order is what the program is told. Its warm-up is a second at least: it has two thousand workers to start.
func (f *river) order(dsn string) string {
	warm := max(f.r.WarmUp(), time.Second)
	text, err := json.Marshal(map[string]any{"dsn": dsn, "jobs": int(riverFastest * (warm + f.r.Round).Seconds()),
		"warm_up_ns": warm, "duration_ns": f.r.Round})
	if err != nil {
		panic(err) // a string and numbers
	}
	return string(text)
}

// riverResult is what the program says.
type riverResult struct {
	JobsPerS float64 `json:"jobs_per_s"`
	Version  string  `json:"version"`
}

// measure is one round, in jobs a second.
func (f *river) measure(ctx context.Context) (perSecond float64, err error) {
	cmd := exec.CommandContext(ctx, f.program())
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	var said, complaint bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(f.order(f.dsn)), &said, &complaint
	if err := cmd.Run(); err != nil {
		return 0, fmt.Errorf("River: %w: %s", err, bytes.TrimSpace(complaint.Bytes()))
	}
	result, err := parseRiver(said.Bytes())
	if err != nil {
		return 0, err
	}
	f.version = result.Version
	return result.JobsPerS, nil
}

func parseRiver(said []byte) (r riverResult, err error) {
	if err := json.Unmarshal(said, &r); err != nil {
		return r, fmt.Errorf("River: cannot read its output: %q", said)
	}
	if r.Version == "" || r.JobsPerS < 0 {
		return r, fmt.Errorf("River: no rate in %q", said)
	}
	if r.JobsPerS == 0 {
		return r, figure.TooShort("a round of River finished no job within its time")
	}
	return r, nil
}
