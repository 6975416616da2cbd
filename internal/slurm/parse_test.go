package slurm

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestScripts(t *testing.T) {
	for text, want := range map[string]error{
		"#!/bin/sh\ntrue\n": nil, "": ErrEmpty, " \n": ErrEmpty, "true\n": ErrNoScript, "#!/bin/sh\r\ntrue\r\n": ErrDOS, "#!/bin/sh\nec\x00ho\n": ErrNull, "#!/bin/sh": nil,
	} {
		if err := CheckScript(text); !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", text, err, want)
		}
	}
}

func TestWords(t *testing.T) {
	for line, want := range map[string][]string{
		` --a=1  -b 2`:             {"--a=1", "-b", "2"},
		` --job-name="a b" 'c d'e`: {"--job-name=a b", "c de"},
		` -n 1 # tasks`:            {"-n", "1"},
		` a\ b "x\"y" '\'`:         {"a b", `x"y`, `\`},
		"\t-J\t''":                 {"-J", ""},
		` '#'1`:                    {"#1"},
		``:                         nil,
	} {
		if diff := cmp.Diff(want, Words(line)); diff != "" {
			t.Errorf("%q: %s", line, diff)
		}
	}
}

func TestDirectives(t *testing.T) {
	for _, tc := range []struct{ script, option, want string }{
		{"#!/bin/bash\n\n# a word\n#SBATCH -J x\n", "job-name", "x"},
		{"#!/bin/bash\n#SBATCH -J x\ncd /\n#SBATCH -J y\n", "job-name", "x"},
		{"#!/bin/bash\n##SBATCH -J x\n#SBATCHES -J z\n", "job-name", ""},
		{"#!/bin/bash\n#SBATCH --signal=B:USR2@30 --no-requeue\r\n", "signal", "B:USR2@30"},
		{"#!/bin/bash\n#SBATCH -J x y\n", "job-name", "x"},
	} {
		g, err := Directives(tc.script)
		if err != nil || g.Get(tc.option) != tc.want || len(g.Args) > 0 {
			t.Errorf("%q: %v %v, want --%s %s", tc.script, g, err, tc.option, tc.want)
		}
	}
	if _, err := Directives("#!/bin/sh\n#SBATCH --nonsense=1\n"); err == nil || !strings.Contains(err.Error(), "--nonsense") {
		t.Errorf("an unknown option in the script: %v", err)
	}
}

func TestTimes(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"90": 90 * time.Minute, "1:05": 65 * time.Second, "2:00:00": 2 * time.Hour, "1-2": 26 * time.Hour, "1-2:03": 26*time.Hour + 3*time.Minute,
		"1-02:03:04": 26*time.Hour + 3*time.Minute + 4*time.Second, "infinite": 0, "UNLIMITED": 0, "-1": 0, "0": 0,
	} {
		if got, err := ParseTime(text); err != nil || got != want {
			t.Errorf("%s: %v %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "x", "1:2:3:4", "-2", "1-", "1.5", "1d", "99999999999"} {
		if got, err := ParseTime(text); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
	for d, want := range map[time.Duration][2]string{
		65 * time.Second: {"1:05", "00:01:05"}, 2 * time.Hour: {"2:00:00", "02:00:00"}, 26*time.Hour + 184*time.Second: {"1-02:03:04", "1-02:03:04"}, 0: {"0:00", "00:00:00"}, -time.Hour: {"0:00", "00:00:00"},
	} {
		if got := [2]string{FormatTime(d), FormatElapsed(d)}; got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
}

// A time limit that squeue prints is one that sbatch reads.
func TestTimesThereAndBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64Range(0, 400*86400).Draw(t, "seconds")) * time.Second
		if got, err := ParseTime(FormatTime(d)); err != nil || got != d {
			t.Errorf("%v: %s is read as %v, %v", d, FormatTime(d), got, err)
		}
	})
}

func TestMemory(t *testing.T) {
	for text, want := range map[string]int64{"100": 100, "4G": 4096, "4GB": 4096, "4g": 4096, "1T": 1 << 20, "1500K": 2, "7M": 7, "0": 0} {
		if got, err := ParseMiB("mem", text); err != nil || got != want {
			t.Errorf("%s: %d %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "G", "-1", "1.5G", "4X", "4GG"} {
		if got, err := ParseMiB("mem", text); err == nil || !strings.Contains(err.Error(), "--mem") {
			t.Errorf("%q is %d, %v", text, got, err)
		}
	}
	if got := Megabytes(100); got != 105 {
		t.Errorf("100 MiB are %d MB", got)
	}
}

func TestMoments(t *testing.T) {
	now := time.Date(2026, 11, 29, 12, 30, 0, 0, time.UTC)
	day := time.Date(2026, 11, 29, 0, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"now": now, "today": day, "2026-11-28T10:00": day.Add(-14 * time.Hour), "1970-01-01": time.Unix(0, 0).UTC(), "10:15": day.Add(10*time.Hour + 15*time.Minute),
		"11/28": day.AddDate(0, 0, -1), "now-2hours": now.Add(-2 * time.Hour), "now-3days": now.AddDate(0, 0, -3), "now+1week": now.AddDate(0, 0, 7), "now-60": now.Add(-time.Minute),
	} {
		if got, err := ParseMoment(text, now); err != nil || !got.Equal(want) {
			t.Errorf("%s: %v %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "yesterday-ish", "now-", "now-3fortnights", "2026-13-01", "now-99999999999999"} {
		if got, err := ParseMoment(text, now); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}

func TestArrays(t *testing.T) {
	for text, want := range map[string]struct {
		spelt string
		ids   []int64
		limit int
	}{
		"1-5":     {"1-5", []int64{1, 2, 3, 4, 5}, 0},
		"1-3,7":   {"1-3,7", []int64{1, 2, 3, 7}, 0},
		"1-9:4%2": {"1-9:4%2", []int64{1, 5, 9}, 2},
		"7,1-3":   {"1-3,7", []int64{1, 2, 3, 7}, 0},
		"3,3,2-4": {"2-4", []int64{2, 3, 4}, 0},
		"0":       {"0", []int64{0}, 0},
		"5:1":     {},
		"":        {}, "x": {}, "5-1": {}, "1-5:0": {}, "1-5%0": {}, "-1": {}, "1-2-3": {}, "0-1000001": {}, "0-999999,0-999999": {},
	} {
		a, err := ParseArray(text)
		if want.spelt == "" {
			if err == nil {
				t.Errorf("%q is %v", text, a)
			}
			continue
		}
		var ids []int64
		for i := range a.Len() {
			ids = append(ids, a.ID(i))
			if k, ok := a.Find(a.ID(i)); !ok || k != i {
				t.Errorf("%q: %d is found at %d", text, a.ID(i), k)
			}
		}
		if err != nil || a.String() != want.spelt || !slices.Equal(ids, want.ids) || a.Limit != want.limit {
			t.Errorf("%q: %s %v %v, want %v", text, a, ids, err, want)
		}
	}
	if _, ok := (Array{Runs: []Run{{1, 2, 3}}}).Find(2); ok {
		t.Error("an index between two is found")
	}
}

func TestDependencies(t *testing.T) {
	for text, want := range map[string][]Dependency{
		"afterok:1:2,afterany:3": {{1, true}, {2, true}, {3, false}}, "afterany:4,afterok:4": {{4, true}}, "7": {{7, false}}, "AFTEROK:5_*": {{5, true}},
	} {
		got, err := ParseDependencies(text)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v %s", text, err, diff)
		}
	}
	for text, says := range map[string]string{"afternotok:1": "afternotok", "singleton": "singleton", "after:1+5": "after", "afterok:1?afterok:2": "?", "afterok:1_4": "1_4", "afterok": "id", "x:1": "x:1"} {
		if got, err := ParseDependencies(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v %v, want an error that says %s", text, got, err, says)
		}
	}
}

func TestIDs(t *testing.T) {
	got, err := ParseIDs("5,5_3,5_[3-4,12%4],1000000000017,12.batch,9_*")
	want := []ID{{5, -1, 0}, {5, 3, 0}, {5, 3, 0}, {5, 4, 0}, {5, 12, 0}, {0, -1, 17}, {12, -1, 0}, {9, -1, 0}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	for _, text := range []string{"x", "0", "-1", "5_x", "5_[1-2", "[1-2]", "1000000000017_4", "5_-1"} {
		if got, err := ParseIDs(text); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}

func TestSignals(t *testing.T) {
	for text, want := range map[string]Signal{"B:USR2@30": {"USR2", 30, true}, "USR2@90": {"USR2", 90, false}, "SIGTERM": {"TERM", 60, false}, "10@5": {"10", 5, false}, "BR:USR1": {"USR1", 60, true}} {
		if got, err := ParseSignal(text); err != nil || got != want {
			t.Errorf("%s: %v %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "B:", "X:USR1", "USR1@", "USR1@x", "$(id)", ":USR1", "USR1@99999"} {
		if got, err := ParseSignal(text); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}

func TestHosts(t *testing.T) {
	for text, want := range map[string][]string{"n1": {"n1"}, "n[1-3],m": {"n1", "n2", "n3", "m"}, "n[08-10,2]x": {"n08x", "n09x", "n10x", "n2x"}, "a[1-2]b[3-4]": {"a1b3", "a1b4", "a2b3", "a2b4"}, "": nil} {
		if got, err := Hosts(text); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %q %v", text, got, err)
		}
	}
	for _, text := range []string{"n[1-", "n[x]", "n[5-1]", "n[1-99999999]", "a[1-999][1-999]"} {
		if got, err := Hosts(text); err == nil {
			t.Errorf("%q are %d hosts", text, len(got))
		}
	}
}

func TestStates(t *testing.T) {
	got, all, err := ParseStates("pd,RUNNING")
	if err != nil || all || !slices.Equal(got, []State{Pending, Running}) {
		t.Errorf("%v %v %v", got, all, err)
	}
	if _, all, err = ParseStates("all"); err != nil || !all {
		t.Errorf("all: %v %v", all, err)
	}
	if _, _, err = ParseStates("nonsense"); err == nil {
		t.Error("nonsense is a state")
	}
	code := func(n int) *int { return &n }
	for want, a := range map[[3]any]Attempt{
		{Failed, 3, 0}:        {"failed", code(3), "exit code 3"},
		{Failed, 0, 9}:        {"failed", code(137), "killed by signal SIGKILL"},
		{Failed, 137, 0}:      {"failed", code(137), "exit code 137"},
		{Timeout, 0, 15}:      {"failed", code(143), "walltime limit: ran 61.0 s, 60 s allowed; killed by signal SIGTERM"},
		{OutOfMemory, 0, 125}: {"failed", code(143), "memory limit: used 200 MB, 100 MB allowed; killed by signal SIGTERM"},
		{NodeFail, 0, 9}:      {"lost", nil, ""},
		{Failed, 1, 0}:        {"failed", code(0), "outputs: not a JSON object"},
	} {
		s, c, sig := FailedAs(a)
		if got := [3]any{s, c, sig}; got != want {
			t.Errorf("%+v is %v, want %v", a, got, want)
		}
	}
}

func FuzzParsers(f *testing.F) {
	for _, text := range []string{"1-3,7%2", "afterok:1:2", "B:USR2@30", "n[1-3]", "5_[3-4]", "%.18i %T", "JobID%-20,State", "1-02:03:04", "4G", "now-2days", "#SBATCH -J 'a b'"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if a, err := ParseArray(text); err == nil {
			again, err := ParseArray(a.String())
			if err != nil || again.String() != a.String() || again.Len() != a.Len() {
				t.Errorf("%q is %s, which is read as %s, %v", text, a, again, err)
			}
		}
		_, _ = ParseDependencies(text)
		_, _ = ParseSignal(text)
		_, _ = Hosts(text)
		_, _ = ParseIDs(text)
		_, _ = ParseQueueFormat(text)
		_, _ = ParseAccountFormat(text)
		_, _ = ParseMiB("mem", text)
		_, _ = ParseMoment(text, time.Unix(0, 0))
		_, _ = Directives("#!/bin/sh\n#SBATCH " + text)
		for _, command := range Commands {
			_, _ = Parse(command, Words(text))
		}
		if got := Expand(text, func(byte) string { return "7" }); len(got) > 10*len(text)+1 {
			t.Errorf("%q becomes %d bytes", text, len(got))
		}
	})
}
