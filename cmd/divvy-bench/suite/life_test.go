package suite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/divvyhq/divvy/cmd/divvy-bench/figure"
	"github.com/divvyhq/divvy/cmd/divvy-bench/recount"
	"github.com/divvyhq/divvy/cmd/divvy-bench/stage"
	"github.com/divvyhq/divvy/internal/pgtest"
)

// runOn is a run with a place, and with progress for people.
func runOn(sizes Sizes, place *stage.Place, progress io.Writer) *run {
	return &run{sizes: sizes, Stage: &stage.Stage{Sizes: sizes.Sizes, Plan: stage.Base, Place: place, Book: figure.NewBook(nil, progress)}}
}

func TestSourceTree(t *testing.T) {
	root := t.TempDir()
	write := func(path, text string) {
		t.Helper()
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	deep := filepath.Join(root, "cmd", "x")
	write("cmd/x/go.mod", "module github.com/divvyhq/divvy/cmd/x\n")
	write("go.mod", "module github.com/divvyhq/divvy-too\n")
	if at, ok := sourceTree(deep); ok {
		t.Errorf("found one in %s", at)
	}
	write("go.mod", "// divvy\nmodule github.com/divvyhq/divvy\n\ngo 1.26.0\n")
	if _, ok := sourceTree(deep); ok {
		t.Error("a tree without River's program")
	}
	write(riverFolder+"/go.mod", "module github.com/divvyhq/divvy/cmd/divvy-bench/river\n")
	for _, from := range []string{deep, root, filepath.Join(root, riverFolder)} {
		if at, ok := sourceTree(from); !ok || at != root {
			t.Errorf("from %s: %q %v", from, at, ok)
		}
	}
}

// Where River cannot be built, S3 is left out with the reason, in the report and on the terminal.
func TestLifeIsSkippedAloud(t *testing.T) {
	var terminal bytes.Buffer
	for name, prepare := range map[string]func(*testing.T){
		"source tree": func(t *testing.T) { t.Chdir(t.TempDir()) },
		"go command":  func(t *testing.T) { t.Setenv("PATH", t.TempDir()) },
	} {
		t.Run(name, func(t *testing.T) {
			prepare(t)
			terminal.Reset()
			r := runOn(Quick(), nil, &terminal)
			r.Served, r.chosen = servesNothing, selection{"S3": true}
			if err := r.take(context.Background(), step{[]string{"S3"}, wholeLife}); err != nil {
				t.Fatal(err)
			}
			var lines bytes.Buffer
			r.Book.Lines(&lines)
			for _, text := range []string{terminal.String(), lines.String()} {
				if !strings.Contains(text, "S3 skipped: ") || !strings.Contains(text, name) {
					t.Errorf("%q", text)
				}
			}
		})
	}
}

var servesNothing = stage.Served{Stop: func(context.Context) error { return nil }}

// A row without a figure is skipped aloud, and those of its step that have one stand; a check that fails ends the run.
func TestTake(t *testing.T) {
	empty := &figure.Unmeasured{Why: "a round finished no job"}
	for name, c := range map[string]struct {
		err     error
		skipped string
		ends    bool
	}{
		"measured":       {nil, "", false},
		"an empty round": {fmt.Errorf("S4: %w", empty), "S4", false},
		"a failed check": {errors.Join(recount.Failed(errors.New("twice")), empty), "", true},
		"another error":  {errors.New("no server"), "", true},
	} {
		var terminal bytes.Buffer
		r := runOn(Sizes{}, nil, &terminal)
		r.Served, r.chosen = servesNothing, selection{"S2": true, "S4": true}
		err := r.take(t.Context(), step{[]string{"S2", "S4", "S7"}, func(_ context.Context, r *run) error {
			r.Book.Add(figure.AtLeast("S2", "ratio", 1, 1))
			return c.err
		}})
		var skipped []string
		for _, k := range r.Book.Skipped {
			skipped = append(skipped, k.ID)
		}
		if (err != nil) != c.ends || strings.Join(skipped, " ") != c.skipped || len(r.Book.Figures) != 1 || strings.Contains(terminal.String(), "skipped") != (c.skipped != "") {
			t.Errorf("%s: %v, skipped %v: %s", name, err, skipped, terminal.String())
		}
	}
}

func TestParseRiver(t *testing.T) {
	r, err := parseRiver([]byte(`{"jobs_per_s":31012.4,"counted":155062,"elapsed_s":5,"version":"v0.51.0","workers":2000,"connections":4}` + "\n"))
	if err != nil || r.JobsPerS != 31012.4 || r.Version != "v0.51.0" {
		t.Errorf("%+v %v", r, err)
	}
	for _, bad := range []string{"", "31012", `{"jobs_per_s":1}`} {
		if _, err := parseRiver([]byte(bad)); err == nil {
			t.Errorf("a rate in %q", bad)
		}
	}
	_, err = parseRiver([]byte(`{"jobs_per_s":0,"counted":0,"elapsed_s":1,"version":"v0.51.0"}`))
	if why := (*figure.Unmeasured)(nil); !errors.As(err, &why) || !strings.Contains(why.Why, "River finished no job") {
		t.Errorf("a round without a job: %v", err)
	}
}

// River is built, works on a database of its own, and leaves nothing behind.
func TestRiver(t *testing.T) {
	pgtest.Long(t, "builds River and runs it for a second, as the bench does")
	ctx := context.Background()
	pool := pgtest.Open(t)
	of := runOn(Quick(), stage.On(pool), nil)
	r, err := newRiver(ctx, of)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second finds the tables of the first
		rate := 0.0
		for of.Round = time.Second; rate == 0 && of.Round < time.Minute; of.Round *= 2 { // on a busy machine none may end in a second
			if rate, err = r.measure(ctx); err != nil && !errors.As(err, new(*figure.Unmeasured)) {
				t.Fatal(err)
			}
		}
		if rate == 0 || !strings.HasPrefix(r.version, "v") {
			t.Errorf("%v jobs/s of River %s", rate, r.version)
		}
	}
	r.dsn = "host=" + t.TempDir()
	if _, err := r.measure(ctx); err == nil || !strings.Contains(err.Error(), "River") {
		t.Errorf("without a server: %v", err)
	}
	r.remove(ctx)
	var n int
	if err := pool.QueryRow(ctx, "SELECT count(*) FROM pg_database WHERE datname = $1", r.database).Scan(&n); err != nil || n != 0 {
		t.Errorf("%d databases left, %v", n, err)
	}
	if _, err := os.Stat(r.folder); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the program is still there: %v", err)
	}
}
