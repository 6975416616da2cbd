package demo

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/internal/site"
	"github.com/divvyhq/divvy/shares"
	"github.com/divvyhq/divvy/shares/tagging"
)

// The targets of the demo's site are whole slots in both halves of the window: see doc.go.
func TestTargetsAreWholeSlots(t *testing.T) {
	s, err := site.Parse("site.yml", Site)
	if err != nil {
		t.Fatal(err)
	}
	capacity, _ := s.Queues[0].Capacity()
	for name, want := range map[string]map[string]float64{
		"first half":  {"Production/MC": 0, "Production/Rep": 3, "Production/Val": 2, "Analysis/User": 1, "Analysis/Grp": 1, "Test": 1},
		"second half": {"Production/MC": 3, "Production/Rep": 1, "Production/Val": 1, "Analysis/User": 1, "Analysis/Grp": 1, "Test": 1},
	} {
		p := shares.NewPool(s.Tree, pool)
		for _, leaf := range s.Tree.Leaves() {
			if name == "second half" || s.Tree.Nodes[leaf].Path != lateLeaf {
				p.SetWant(leaf, 100_000)
			}
		}
		targets := p.Targets(capacity)
		for path, slots := range want {
			i, ok := s.Tree.ByPath(path)
			if !ok || targets[i] < slots*1000-0.01 || targets[i] > slots*1000+0.01 {
				t.Errorf("%s: target of %s is %.3f, want %.0f", name, path, targets[i]/1000, slots)
			}
		}
	}
}

// Every activity is tagged to its leaf and is a task that the server takes.
func TestActivitiesFitTheSite(t *testing.T) {
	s, err := site.Parse("site.yml", Site)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, a := range activities {
		task := a.task("/bin/divvy", "/tmp/outputs", []string{"/usr/include"})
		if err := wire.As[*spec.Spec](task).Check(); err != nil {
			t.Errorf("%s: %v", a.name, err)
		}
		r := s.Tags.Tag(tagging.Attributes{"label": task.Label, "working_group": task.WorkingGroup, "processing_type": task.ProcessingType, "user": task.User})
		if r.Share != a.leaf {
			t.Errorf("%s is tagged %q, want %s", a.name, r.Share, a.leaf)
		}
		seen[a.leaf] = true
	}
	for _, leaf := range Leaves {
		if !seen[leaf] {
			t.Errorf("%s has no task", leaf)
		}
	}
}

// inputFolder makes a folder with files worth a job.
func inputFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"a.txt": strings.Repeat("three little words\n", 300), "b.txt": "no newline", "empty": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestPayloadsAgreeWithTheirInputs(t *testing.T) {
	dir := inputFolder(t)
	for _, activity := range []string{Checksum, Compress, Count} {
		t.Run(activity, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "sub", "0.json")
			if err := (Payload{Activity: activity, Folder: dir, Out: out}).Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			got, err := verifyOutput(out)
			if err != nil || got.Files != 3 || got.Bytes != 300*19+10 {
				t.Errorf("%+v, %v", got, err)
			}
			left, _ := filepath.Glob(filepath.Join(filepath.Dir(out), ".part*"))
			if len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
	if err := (Payload{Activity: "none", Folder: dir, Out: filepath.Join(t.TempDir(), "x")}).Run(t.Context()); err == nil {
		t.Error("an unknown activity is no error")
	}
}

// A changed input or output is noticed, whatever the activity.
func TestVerifyNoticesWhatDoesNotAgree(t *testing.T) {
	for _, activity := range []string{Checksum, Compress, Count} {
		for what, spoil := range map[string]func(dir, out string) error{
			"input changed": func(dir, _ string) error {
				return os.WriteFile(filepath.Join(dir, "a.txt"), []byte(strings.Repeat("four little words \n", 300)+"x"), 0o644)
			},
			"input gone":   func(dir, _ string) error { return os.Remove(filepath.Join(dir, "b.txt")) },
			"input added":  func(dir, _ string) error { return os.WriteFile(filepath.Join(dir, "c.txt"), []byte("c"), 0o644) },
			"output cut":   func(_, out string) error { return os.Truncate(out, 20) },
			"output gone":  func(_, out string) error { return os.Remove(out) },
			"not its work": func(_, out string) error { return os.WriteFile(out, []byte(`{"activity":"sleep"}`), 0o644) },
		} {
			t.Run(activity+", "+what, func(t *testing.T) {
				dir, out := inputFolder(t), filepath.Join(t.TempDir(), "0.json")
				if err := (Payload{Activity: activity, Folder: dir, Out: out}).Run(t.Context()); err != nil {
					t.Fatal(err)
				}
				if err := spoil(dir, out); err != nil {
					t.Fatal(err)
				}
				if _, err := verifyOutput(out); err == nil {
					t.Error("not noticed")
				}
			})
		}
	}
}

func TestJudge(t *testing.T) {
	good := Row{Share: "x", Target: 100, Due: 100, Delivered: 96, MeanJob: 0.7, Jobs: 10}
	for name, c := range map[string]struct {
		change func(*Row)
		ok     bool
	}{
		"within 5 %":                      {func(*Row) {}, true},
		"too little":                      {func(r *Row) { r.Delivered = 94.9 }, false},
		"too much":                        {func(r *Row) { r.Delivered = 105.1 }, false},
		"within a mean job":               {func(r *Row) { r.Delivered, r.MeanJob = 90, 10 }, true},
		"idle slots are not unfair":       {func(r *Row) { r.Due, r.Delivered = 70, 69 }, true},
		"unfair beside idle slots":        {func(r *Row) { r.Due, r.Delivered = 70, 60 }, false},
		"a job a slot that changed hands": {func(r *Row) { r.Delivered, r.Moved = 85, 3 }, true},
		"more than jobs of moves excuse":  {func(r *Row) { r.Delivered, r.Moved = 70, 8 }, false},
		"no slot changed hands":           {func(r *Row) { r.Delivered = 85 }, false},
		"a failed attempt":                {func(r *Row) { r.Failed = 1 }, false},
		"no job":                          {func(r *Row) { r.Jobs = 0 }, false},
	} {
		r := &Report{LongestJob: 5}
		for range Leaves {
			r.Rows = append(r.Rows, good)
		}
		c.change(&r.Rows[2])
		if r.judge(); r.Passed != c.ok {
			t.Errorf("%s: passed %v, %v", name, r.Passed, r.Problems)
		}
	}
	if r := (&Report{Rows: []Row{good}}); true {
		if r.judge(); r.Passed {
			t.Error("missing shares are no problem")
		}
	}
}

// Three slots of four stand idle half of the time; a leaf is due its part of what was delivered at each moment only.
func TestDues(t *testing.T) {
	history := []historyRow{{"a", -5, 9, 0}, {"a", -1, 3, 0}, {"b", -1, 1, 0}, {"a", 6, 1, 0}, {"b", 6, 3, 0}, {"b", 12, 9, 0}}
	spans := []spanRow{{"a", 3, -2, 3}, {"b", 1, 0, 10}, {"b", 3, 7, 11}, {"a", 4, 10, 20}}
	got := dues(history, spans, 10)
	for share, want := range map[string]due{
		// held 4 until 3 s, 1 until 7 s, 4 until 10 s; of that a is due three quarters until 6 s and one from then on
		"a": {target: 3*6 + 1*4, part: 0.75*(4*3+1*3) + 0.25*(1*1+4*3), low: 1, high: 3},
		"b": {target: 1*6 + 3*4, part: 0.25*(4*3+1*3) + 0.75*(1*1+4*3), low: 1, high: 3},
	} {
		if d := got[share]; math.Abs(d.target-want.target) > 1e-9 || math.Abs(d.part-want.part) > 1e-9 || d.low != want.low || d.high != want.high {
			t.Errorf("%s: %+v, want %+v", share, d, want)
		}
	}
	if len(got) != 2 {
		t.Errorf("%v", got)
	}
}

// A slow machine is told beside the verdict and does not change it.
func TestBusyMachine(t *testing.T) {
	at := time.Unix(1e9, 0)
	for delivered, busy := range map[float64]bool{39.6: false, 20: true} {
		r := &Report{Slots: 6, From: at, To: at.Add(40 * time.Second)}
		for range Leaves {
			r.Rows = append(r.Rows, Row{Share: "x", Target: 40, Due: delivered, Delivered: delivered, MeanJob: 0.7, Jobs: 10})
		}
		if r.judge(); !r.Passed || r.Busy() != busy || math.Abs(r.Idle-(1-delivered/40)) > 1e-9 {
			t.Errorf("delivered %v: idle %v, %v", delivered, r.Idle, r.Problems)
		}
	}
}

func TestPlotIsXML(t *testing.T) {
	p := Plot{Title: "a < b", Until: 30, Marks: []Mark{{T: 15, Text: "now & then"}}}
	for i, leaf := range append(Leaves, "Empty") {
		s := Series{Share: leaf}
		for j := range 40 * i {
			s.Points = append(s.Points, Point{T: float64(j) / 10, Target: float64(i), Held: float64(j % 4)})
		}
		p.Series = append(p.Series, s)
	}
	var b bytes.Buffer
	if err := p.WriteSVG(&b); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	dec := xml.NewDecoder(&b)
	for {
		if _, err := dec.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"Production/MC", "now &amp; then", "a &lt; b", "30 s"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in the plot", want)
		}
	}
	if strings.Contains(text, "NaN") || strings.Contains(text, "Inf") {
		t.Error("a coordinate is no number")
	}
	if err := (Plot{}).WriteSVG(io.Discard); err != nil {
		t.Error(err)
	}
}

func TestGridStep(t *testing.T) {
	for top, want := range map[float64]float64{1: 1, 3: 1, 6: 1, 8: 2, 20: 5, 32: 10, 60: 10, 1000: 200} {
		if got := gridStep(top); got != want {
			t.Errorf("gridStep(%v) = %v, want %v", top, got, want)
		}
	}
}

// On a terminal the picture is redrawn in place; in a file there is a line every two seconds.
func TestView(t *testing.T) {
	st := wire.Standing{Pools: []wire.PoolStanding{{Pool: "default", Shares: []wire.ShareStanding{
		{Path: "Production/MC", Leaf: true, Held: 3, Target: 3}, {Path: "Production/Rep", Leaf: true, Held: 1, Target: 1}}}}}
	draw := func(w io.Writer, _ wire.Standing) { _, _ = io.WriteString(w, "TREE\n") }
	var file, screen bytes.Buffer
	lines, picture := newView(Screen{Out: &file, Draw: draw}), newView(Screen{Out: &screen, Live: true, Width: 80, Draw: draw})
	for i := range 20 {
		f := frame{elapsed: time.Duration(i) * 250 * time.Millisecond, total: 5 * time.Second, story: "story", standing: st, finished: int64(i)}
		lines.show(f)
		picture.show(f)
	}
	if n := strings.Count(file.String(), "\n"); n != 3 || !strings.Contains(file.String(), "MC 3/3.0") {
		t.Errorf("%d lines:\n%s", n, file.String())
	}
	if n := strings.Count(screen.String(), "TREE"); n != 20 || strings.Contains(file.String(), "\x1b") {
		t.Errorf("%d pictures", n)
	}
}

func TestFolders(t *testing.T) {
	root := t.TempDir()
	for i := range 12 {
		dir := filepath.Join(root, string(rune('a'+i)))
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "f"), make([]byte, minFolderBytes), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(root, "empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	found, err := Folders(root, 100)
	if err != nil || len(found) != 12 {
		t.Errorf("%d folders, %v", len(found), err)
	}
	if found, _ := Folders(root, 5); len(found) != 5 {
		t.Errorf("%d folders, want the 5 asked for", len(found))
	}
	if _, err := Folders(filepath.Join(root, "empty"), 5); err == nil {
		t.Error("too few folders are no error")
	}
	in := inputsFor(found, 8, 5*time.Second)
	if len(in) != 88 || in[0] != in[12] {
		t.Errorf("%d inputs", len(in))
	}
}

func TestAtLeast(t *testing.T) {
	for i, index := range []string{"0", "1", "2", "1000000"} {
		if d, err := AtLeast(index); err != nil || d < shortestJob || d > shortestJob+spreadOfJob {
			t.Errorf("%d: %s, %v", i, d, err)
		}
	}
	if _, err := AtLeast("x"); err == nil {
		t.Error("x is a number")
	}
}
