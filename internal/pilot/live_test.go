package pilot

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	outputs "github.com/divvyhq/divvy/internal/live"
)

// follow reads what an attempt writes until both streams have ended, or enough says that it has.
func follow(t *testing.T, s *fake, from [2]int64, enough func(got [2][]byte) bool) (got [2][]byte) {
	t.Helper()
	at := from
	for deadline := time.Now().Add(20 * time.Second); ; {
		s.mu.Lock()
		outs := s.outputs
		s.mu.Unlock()
		a := outs.Read(t.Context(), outputs.Question{Key: outputs.Key{Job: 1, Attempt: 1}, Pilot: "p1", From: at, Wait: 50 * time.Millisecond})
		for _, p := range a.Pieces {
			i := 0
			if p.Stream == outputs.Stderr {
				i = 1
			}
			if p.Offset != at[i] {
				t.Fatalf("a gap from %d to %d", at[i], p.Offset)
			}
			got[i] = append(got[i], p.Data...)
			at[i] += int64(len(p.Data))
		}
		switch {
		case a.Ended || enough != nil && enough(got):
			return got
		case time.Now().After(deadline):
			t.Fatalf("%d and %d bytes, and no end", len(got[0]), len(got[1]))
		}
	}
}

// What a follower reads is what was written, from the beginning to the end, although the server forgets all in between.
func TestFollowedOutput(t *testing.T) {
	s := newFake()
	p := start(t, s, Config{})
	job := shell(`i=0; while [ $i -lt 20000 ]; do echo "line $i"; i=$((i+1)); done; echo oops >&2; while [ ! -e on ]; do sleep 0.01; done; echo on; while [ ! -e go ]; do sleep 0.01; done; printf 'the\0end'`)
	token := s.add(job)[0]
	var want bytes.Buffer
	for i := range 20000 {
		fmt.Fprintln(&want, "line", i)
	}
	first := follow(t, s, [2]int64{}, func(got [2][]byte) bool { return len(got[0]) == want.Len() && len(got[1]) > 0 })
	s.change(func() {
		s.outputs.Close()
		s.outputs = outputs.New(outputs.Limits{})
	})
	touch(t, p.cfg.Payload.WorkDir, "1-1", "work", "on")
	at := [2]int64{int64(len(first[0])), int64(len(first[1]))}
	more := follow(t, s, at, func(got [2][]byte) bool { return len(got[0]) == 3 })
	touch(t, p.cfg.Payload.WorkDir, "1-1", "work", "go")
	at[0] += 3
	rest := follow(t, s, at, nil)
	want.WriteString("on\nthe\x00end")
	if got := slices.Concat(first[0], more[0], rest[0]); !bytes.Equal(got, want.Bytes()) {
		t.Errorf("%d bytes of stdout, %d were written", len(got), want.Len())
	}
	if got := string(first[1]) + string(rest[1]); got != "oops\n" {
		t.Errorf("stderr %q", got)
	}
	if r := result(t, s, token); r.Outcome != finished {
		t.Errorf("the job %s: %s", r.Outcome, r.Message)
	}
}

// A follower who comes late gets the last MiB.
func TestFollowedLate(t *testing.T) {
	s := newFake()
	p := start(t, s, Config{})
	s.add(shell(`head -c 3000000 /dev/zero | tr '\0' x; echo; echo done > written; while [ ! -e go ]; do sleep 0.01; done`))
	file(t, p.cfg.Payload.WorkDir, "1-1", "work", "written")
	q := outputs.Question{Key: outputs.Key{Job: 1, Attempt: 1}, Pilot: "p1", Wait: 20 * time.Second}
	a := s.outputs.Read(t.Context(), q)
	if len(a.Pieces) != 1 || a.Pieces[0].Offset != 3000001-1<<20 {
		t.Errorf("%d pieces, the first at %v", len(a.Pieces), a.Pieces)
	}
	touch(t, p.cfg.Payload.WorkDir, "1-1", "work", "go")
}

// Jobs that are not followed are not sent, and a server without the call, or one that is away, changes nothing for jobs.
func TestNotFollowed(t *testing.T) {
	for name, trouble := range map[string]func(*fake){
		"quiet": func(*fake) {},
		"old":   func(s *fake) { s.noOutput = &trouble{status: 404, code: "no_route"} },
		"away":  func(s *fake) { s.noOutput = errAway },
	} {
		t.Run(name, func(t *testing.T) {
			s := newFake()
			trouble(s)
			dir := t.TempDir()
			p := start(t, s, Config{MaxJobs: 2})
			for i, token := range s.add(shell("echo 1; echo > "+filepath.Join(dir, "done")), shell("echo 2")) {
				if r := result(t, s, token); r.Outcome != finished || r.LogTail != fmt.Sprintln(i+1) {
					t.Errorf("%s, log %q", r.Outcome, r.LogTail)
				}
			}
			if err := p.left(); err != nil {
				t.Error(err)
			}
			if size, n := s.outputs.Size(); size != 0 || n != 0 || name != "away" && s.nOutputs > 2 {
				t.Errorf("%d bytes of %d attempts in %d calls", size, n, s.nOutputs)
			}
		})
	}
}

// Whole logs are kept and it is reported where. A place that takes none costs no outcome.
func TestWholeLogs(t *testing.T) {
	place := t.TempDir()
	if err := os.WriteFile(filepath.Join(place, "2-1"), nil, 0o600); err != nil { // in the way of the second job
		t.Fatal(err)
	}
	s := newFake()
	start(t, s, Config{Logs: place})
	tokens := s.add(shell(`head -c 100000 /dev/zero | tr '\0' x; echo oops >&2; exit 3`), shell("echo fine"))
	r := result(t, s, tokens[0])
	if where := filepath.Join(place, "1-1"); r.Outcome != failed || r.Report["logs"] != where {
		t.Errorf("%s, report %v, want %s", r.Outcome, r.Report, where)
	}
	for name, want := range map[string]string{"stdout.log": strings.Repeat("x", 100000), "stderr.log": "oops\n"} {
		if got, err := os.ReadFile(filepath.Join(place, "1-1", name)); string(got) != want {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
	}
	r = result(t, s, tokens[1])
	if why, _ := r.Report["logs_not_kept"].(string); r.Outcome != finished || !strings.Contains(why, "not a directory") {
		t.Errorf("%s, report %v", r.Outcome, r.Report)
	}
}
