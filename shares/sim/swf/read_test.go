package swf

import (
	"errors"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

func small(t testing.TB) *Trace {
	t.Helper()
	f, err := os.Open("testdata/small.swf")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	trace, err := Read("small.swf", f, true)
	if err != nil {
		t.Fatal(err)
	}
	return trace
}

func TestRead(t *testing.T) {
	trace := small(t)
	if trace.MaxProcs != 8 || len(trace.Records) != 10 {
		t.Fatalf("MaxProcs %d, %d records", trace.MaxProcs, len(trace.Records))
	}
	want := Record{Line: 8, Job: 2, Run: 3600, Processors: 4, CPU: 3599.5, Requested: 4, User: 11, Group: 1, Executable: 1, Queue: 1, Partition: -1}
	if got := trace.Records[1]; got != want {
		t.Errorf("%+v\nwant\n%+v", got, want)
	}
	for i, want := range map[int]struct {
		run   time.Duration
		cores int64
		why   string
	}{0: {time.Hour, 4, ""}, 6: {20 * time.Minute, 2, ""}, 7: {0, 2, "run time unknown"}, 8: {30 * time.Minute, 8, ""}} {
		r := trace.Records[i]
		if run, _ := r.Runtime(); run != want.run || r.Cores() != want.cores || r.Unusable() != want.why {
			t.Errorf("job %d: runs %s on %d, %q", r.Job, run, r.Cores(), r.Unusable())
		}
	}
	if got := trace.Records[9].Attributes(); len(got) != 2 || got["user"] != "" || got["queue"] != "1" {
		t.Errorf("job 10: %v", got)
	}
	if got := trace.Records[4].Attributes(); got["user"] != "21" || got["working_group"] != "2" || got["transformation"] != "2" || got["labels.partition"] != "" {
		t.Errorf("job 5: %v", got)
	}
}

func TestUnusable(t *testing.T) {
	good := Record{Run: 1, Processors: 1}
	for why, change := range map[string]func(*Record){
		"":                    func(*Record) {},
		"submit time unknown": func(r *Record) { r.Submit = -1 },
		"processors unknown":  func(r *Record) { r.Processors, r.Requested = 0, -1 },
		"run time unknown":    func(r *Record) { r.Run, r.CPU = -1, -1 },
	} {
		r := good
		change(&r)
		if got := r.Unusable(); got != why {
			t.Errorf("%+v: %q, want %q", r, got, why)
		}
	}
}

func TestReadProblems(t *testing.T) {
	const good = "1 0 0 10 1 10 -1 1 10 -1 1 1 1 1 1 1 -1 -1\n"
	for name, c := range map[string]struct{ src, want string }{
		"columns":  {"; head\n" + good + "1 2 3\n", "t.swf:3: 3 columns; a record has 18"},
		"word":     {strings.Replace(good, "1 0 0 10", "1 0 0 x", 1), `t.swf:1: column 4, run time, is "x": want a whole number, at least 0, or -1 for unknown`},
		"fraction": {strings.Replace(good, "1 0 0 10", "1 0.5 0 10", 1), `column 2, submit time, is "0.5"`},
		"minus":    {strings.Replace(good, "1 0 0 10", "1 -7 0 10", 1), `column 2, submit time, is "-7"`},
		"large":    {strings.Replace(good, "1 0 0 10", "1 0 0 99999999999", 1), `column 4, run time, is "99999999999"`},
		"nan":      {strings.Replace(good, "10 1 10 -1 1 10", "-1 1 NaN -1 1 10", 1), `column 6, CPU time, is "NaN": want a number`},
		"empty":    {"", "t.swf:1: no record"},
		"head":     {"; MaxProcs: 4\n\n", "t.swf:2: no record"},
		"long":     {good + strings.Repeat("1 ", maxLine), "t.swf:2: the line is longer than 65536 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			trace, err := Read("t.swf", strings.NewReader(c.src), true)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%+v, %v; want %s", trace, err, c.want)
			}
		})
	}
	_, err := Read("t.swf", strings.NewReader(strings.Repeat("x\n", 100)), true)
	var problems Problems
	if !errors.As(err, &problems) || len(problems) != MaxProblems || problems[4].Line != 5 {
		t.Errorf("%v", err)
	}
	broken := errors.New("broken disk")
	if _, err := Read("t.swf", iotest.ErrReader(broken), false); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}

// What archives hold: columns behind the 18th, figures of any size and form in columns that are not used or not needed, and
// broken records among good ones.
func TestReadArchives(t *testing.T) {
	const src = `; MaxProcs: 128
1 0 0 10 1 10 -1 1 10 -1 1 1 1 1 1 1 -1 -1 0.5 node7
2 5 4294967296 10 1 9999999999 4.3e12 9999999999 99999999999 x 9 1 1 1 1 1 8589934592 -7
3 6 0 10 1 10
9000000000 7 0 10 2 10 -1 2 10 -1 1 9000000001 1 1 1 1 -1 -1
5 8 0 99999999999 2 10 -1 2 10 -1 1 1 1 1 1 1 -1 -1
6 9 0 -1 2 99999999999 -1 2 10 -1 1 1 1 1 1 1 -1 -1
`
	trace, err := Read("t.swf", strings.NewReader(src), false)
	if err != nil {
		t.Fatal(err)
	}
	if len(trace.Records) != 3 || trace.NBroken != 3 || len(trace.Broken) != 3 || trace.Broken[0].Line != 4 {
		t.Fatalf("%d records, %d broken: %v", len(trace.Records), trace.NBroken, trace.Broken)
	}
	for i, want := range []Record{{Line: 2, Job: 1, CPU: 10, Requested: 1, User: 1}, {Line: 3, Job: 2, Submit: 5, CPU: -1, Requested: -1, User: 1},
		{Line: 5, Job: 9000000000, Submit: 7, CPU: 10, Requested: 2, User: 9000000001}} {
		want.Run, want.Processors = 10, max(1, want.Requested)
		want.Group, want.Executable, want.Queue, want.Partition = 1, 1, 1, 1
		if trace.Records[i] != want {
			t.Errorf("%+v, want %+v", trace.Records[i], want)
		}
	}
	var problems Problems
	if _, err := Read("t.swf", strings.NewReader(src), true); !errors.As(err, &problems) || len(problems) != 3 {
		t.Errorf("strict: %v", err)
	}
}

// Whatever is read, records are within their bounds and errors name the file.
func FuzzRead(f *testing.F) {
	src, err := os.ReadFile("testdata/small.swf")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(src))
	f.Add("; MaxProcs: -1\n1 0 0 1 1 1e3 -1 1 1 -1 1 1 1 1 1 1 -1 -1")
	f.Add("1 0 0\n\x00")
	f.Fuzz(func(t *testing.T, src string) {
		trace, err := Read("f.swf", strings.NewReader(src), false)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "f.swf:") {
				t.Errorf("%v names no place", err)
			}
			return
		}
		if len(trace.Records) == 0 || trace.MaxProcs < 0 {
			t.Errorf("%+v", trace)
		}
		for _, r := range trace.Records {
			run, ok := r.Runtime()
			if r.Line < 1 || r.Submit < Unknown || r.Submit > maxFigure || run < 0 || run > maxFigure*time.Second || r.Cores() < 0 || !ok && r.Unusable() == "" {
				t.Errorf("%+v", r)
			}
		}
	})
}
