package provision

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var start = time.Date(2026, 1, 5, 8, 0, 0, 0, time.UTC)

func TestPlan(t *testing.T) {
	asked := func(name string, state State) Pilot { return Pilot{Name: name, Asked: start, State: state} }
	for name, c := range map[string]struct {
		pilots []Pilot
		w      Wanted
		start  int
		stop   []string
	}{
		"all":             {nil, Wanted{Wanted: 3, Keep: 3}, 3, nil},
		"the rest":        {[]Pilot{asked("a", Asked), asked("b", Alive)}, Wanted{Wanted: 3, Keep: 3, Alive: 1}, 1, nil},
		"those of others": {[]Pilot{asked("a", Asked)}, Wanted{Wanted: 3, Keep: 3, Alive: 2}, 0, nil},
		"enough":          {[]Pilot{asked("a", Queued), asked("b", Alive)}, Wanted{Wanted: 1, Keep: 2}, 0, nil},
		"too many":        {[]Pilot{asked("a", Queued), asked("b", Queued), asked("c", Alive)}, Wanted{Wanted: 1, Keep: 2}, 0, []string{"b"}},
		"none is killed":  {[]Pilot{asked("a", Alive), asked("b", Asked)}, Wanted{}, 0, nil},
	} {
		table := Table{Pilots: c.pilots}
		if n, stop := table.Plan(start, c.w); n != c.start || !reflect.DeepEqual(stop, c.stop) {
			t.Errorf("%s: start %d, stop %v; expected %d, %v", name, n, stop, c.start, c.stop)
		}
	}
}

// A site that swallows pilots gets one at a time, after pauses that grow.
func TestBackoff(t *testing.T) {
	table, now, asks := Table{Grace: 5 * time.Second}, start, []time.Duration{}
	for range 200 {
		table.Update(now, nil, nil)
		n, _ := table.Plan(now, Wanted{Wanted: 4, Keep: 4})
		for i := range n {
			table.Pilots = append(table.Pilots, Pilot{Name: fmt.Sprint(now, i), Asked: now, State: Asked})
			asks = append(asks, now.Sub(start))
		}
		now = now.Add(time.Second)
	}
	second := time.Second
	if want := []time.Duration{0, 0, 0, 0, 15 * second, 40 * second, 85 * second, 170 * second}; !reflect.DeepEqual(asks, want) {
		t.Errorf("asked for pilots after %v, expected %v", asks, want)
	}
	table.Pilots = []Pilot{{Name: "a", Asked: now, State: Queued, Listed: true}}
	table.Update(now, []string{"a"}, []string{"a"})
	if n, _ := table.Plan(now, Wanted{Wanted: 4, Keep: 4, Alive: 1}); n != 3 {
		t.Errorf("with a pilot that is alive %d are started, expected 3", n)
	}
}

// fake is a batch system in a folder: a file for each pilot.
type fake struct {
	dir     string
	started string // a line for each start
}

func newFake(t *testing.T) *fake {
	dir := t.TempDir()
	return &fake{filepath.Join(dir, "jobs"), filepath.Join(dir, "started")}
}

func (f *fake) site(t *testing.T) *Site {
	t.Helper()
	if err := os.MkdirAll(f.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "site.tmpl")
	text := fmt.Sprintf(`{{define "start"}}{{range .Names}}touch %[1]s/{{.}}; echo {{.}} >>%[2]s
{{end}}{{end}}{{define "list"}}ls %[1]s{{end}}{{define "stop"}}{{range .Names}}rm %[1]s/{{.}}
{{end}}{{end}}`, f.dir, f.started)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := OpenSite(file, Values{Prefix: "p-"})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (f *fake) names(t *testing.T) (names []string) {
	entries, err := os.ReadDir(f.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// provisioner is one on a folder, as a program that was started anew.
func provisioner(t *testing.T, f *fake, dir string, ask func() (Wanted, []string, error)) *Provisioner {
	t.Helper()
	folder, err := OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	p, err := New(Config{Prefix: "p-", Site: f.site(t), Folder: folder, Grace: time.Minute, Every: time.Second,
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Ask: func(context.Context) (Wanted, []string, string, error) {
			w, seen, err := ask()
			return w, seen, "a test", err
		}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Killed at any moment and started anew, it starts nothing twice.
func TestKilled(t *testing.T) {
	f, dir := newFake(t), t.TempDir()
	w := Wanted{Wanted: 3, Keep: 3}
	ask := func() (Wanted, []string, error) { return w, nil, nil }
	step := func(now time.Time) {
		t.Helper()
		p := provisioner(t, f, dir, ask)
		if err := p.Step(t.Context(), now); err != nil {
			t.Fatal(err)
		}
		_ = p.Folder.Close() // all that a kill leaves is the files
	}
	step(start)
	step(start.Add(time.Second))
	if names := f.names(t); len(names) != 3 {
		t.Errorf("%d pilots run, expected 3: %v", len(names), names)
	}
	// Killed between the files of its names and the start command: until grace is over these count.
	p := provisioner(t, f, dir, ask)
	if err := p.Folder.Write(Pilot{Name: "p-x", Asked: start.Add(2 * time.Second), State: Asked}); err != nil {
		t.Fatal(err)
	}
	_ = p.Folder.Close()
	w = Wanted{Wanted: 4, Keep: 4}
	step(start.Add(3 * time.Second))
	if names := f.names(t); len(names) != 3 {
		t.Errorf("%d pilots run while a name may be on its way, expected 3", len(names))
	}
	started, err := os.ReadFile(f.started)
	if err != nil || len(strings.Fields(string(started))) != 3 {
		t.Errorf("%q, %v", started, err)
	}
}

func TestNothingIsDoneBlindly(t *testing.T) {
	f, dir := newFake(t), t.TempDir()
	away := errors.New("away")
	p := provisioner(t, f, dir, func() (Wanted, []string, error) { return Wanted{}, nil, away })
	if err := p.Step(t.Context(), start); !errors.Is(err, away) {
		t.Error(err)
	}
	p.Ask = func(context.Context) (Wanted, []string, string, error) {
		return Wanted{Wanted: 2, Keep: 2}, nil, "", nil
	}
	if err := p.Step(t.Context(), start); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(f.dir); err != nil { // the batch system is away
		t.Fatal(err)
	}
	if err := p.Step(t.Context(), start.Add(time.Hour)); err == nil || !strings.Contains(err.Error(), "list command") {
		t.Error(err)
	}
	if _, err := OpenFolder(dir); err == nil || !strings.Contains(err.Error(), "another divvy provision") {
		t.Error(err)
	}
}

// What leaves, and what is started for it, are never more than wanted at a time.
func TestNeverMoreThanWanted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table, now, n := Table{Grace: time.Minute}, start, 0
		for range 50 {
			now = now.Add(time.Duration(rapid.IntRange(1, 40).Draw(t, "seconds")) * time.Second)
			var listed, seen []string
			for _, p := range table.Pilots {
				if rapid.IntRange(0, 9).Draw(t, "listed") > 0 {
					listed = append(listed, p.Name)
				}
				if rapid.Bool().Draw(t, "seen") {
					seen = append(seen, p.Name)
				}
			}
			table.Update(now, listed, seen)
			w := Wanted{Wanted: rapid.IntRange(0, 9).Draw(t, "wanted")}
			w.Keep = w.Wanted
			before := len(table.Pilots)
			more, stop := table.Plan(now, w)
			if more > 0 && before+more > w.Wanted || more > 0 && len(stop) > 0 {
				t.Fatalf("%d pilots, %d wanted: start %d, stop %v", before, w.Wanted, more, stop)
			}
			for range more {
				n++
				table.Pilots = append(table.Pilots, Pilot{Name: fmt.Sprint(n), Asked: now, State: Asked})
			}
		}
	})
}

func TestTemplates(t *testing.T) {
	if want := []string{"gridengine", "htcondor", "local", "slurm", "ssh"}; !slices.Equal(Templates(), want) {
		t.Errorf("%v", Templates())
	}
	for _, name := range Templates() {
		s, err := OpenSite(name, Values{Prefix: "p-", Queue: "Q", Pilot: "divvy pilot --queue 'Q'", Cores: 8, MemoryMB: 16000, WalltimeS: 3600, Logs: "/logs", Set: map[string]string{"host": "node7"}})
		if err != nil {
			t.Fatal(err)
		}
		for part, want := range map[string]string{"start": "--name", "list": "", "stop": "p-1"} {
			script, err := s.Script(part, []string{"p-1", "p-2"})
			if err != nil || !strings.Contains(script, want) {
				t.Errorf("%s, %s: %v\n%s", name, part, err, script)
			}
			if part == "start" && (!strings.Contains(script, "--until") || !strings.Contains(script, "3600")) {
				t.Errorf("%s: pilots are not told when they end:\n%s", name, script)
			}
		}
	}
	if _, err := OpenSite("nowhere", Values{}); err == nil || !strings.Contains(err.Error(), "slurm") {
		t.Error(err)
	}
}
