package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/cmd/divvy/servetest"
	"github.com/divvyhq/divvy/cmd/divvy/tools"

	"github.com/divvyhq/divvy/cmd/divvy/fail"
	"github.com/divvyhq/divvy/shares/replay"
)

func TestMoments(t *testing.T) {
	now := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	for in, want := range map[string]time.Time{
		"24h": now.Add(-24 * time.Hour), "7d": now.Add(-7 * 24 * time.Hour), "0s": now,
		"2026-03-01T00:00:00Z": time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC),
	} {
		if got, err := tools.ParseMoment("since", in, now); err != nil || !got.Equal(want) {
			t.Errorf("%s is %v, %v; want %v", in, got, err, want)
		}
	}
	for _, in := range []string{"", "yesterday", "-3h", "2026-03-01"} {
		if at, err := tools.ParseMoment("since", in, now); err == nil {
			t.Errorf("%q is taken for %v", in, at)
		}
	}
}

// A task that pilots have run is replayed beside the daemon: as it was, and by a site that gives its share nothing.
func TestSimReplay(t *testing.T) {
	t.Parallel()
	d, cl := launch(t, nil)
	dsn := d.cfg.Database.DSN
	for _, user := range []string{"user", "ptest"} {
		spec := servetest.Hello(20)
		spec.Label = user
		if _, err := cl.Tasks().Submit(t.Context(), spec, ""); err != nil {
			t.Fatal(err)
		}
	}
	got := 0
	servetest.Eventually(t, 20*time.Second, func() (bool, string) {
		reply, err := cl.Pull(t.Context(), wire.PullRequest{Queue: "LOCAL", Pilot: "p", Max: 1, Slot: wire.Slot{Cores: 1}})
		var ends []wire.Result
		for _, l := range reply.Leases {
			ends = append(ends, wire.Result{Lease: l.Lease, Outcome: wire.Finished})
		}
		if got += len(ends); err == nil && len(ends) > 0 {
			var said wire.FinishReply
			if said, err = cl.Finish(t.Context(), wire.FinishRequest{Pilot: "p", Results: ends}); err == nil && said.Verdicts[0].Verdict != "recorded" {
				t.Fatalf("%+v", said)
			}
		}
		return got == 40, fmt.Sprint(got, " jobs, ", err)
	})
	o := divvy(t, "sim", "replay", "--since", "1h", "--database", dsn, "-o", "json")
	var s replay.Score
	if err := json.Unmarshal([]byte(o.out), &s); err != nil || o.code != fail.OK {
		t.Fatalf("%v: %+v", err, o)
	}
	if s.Decisions != 40 || s.Compared != 40 || s.Differences != 0 || s.Drifts != 0 {
		t.Errorf("%+v", s)
	}
	file := filepath.Join(t.TempDir(), "new.yml")
	src := "shares:\n- {name: Production, weight: 1}\nqueues:\n- {name: LOCAL, slots: 4}\n"
	if err := os.WriteFile(file, []byte(src), 0o600); err != nil {
		t.Fatal(err)
	}
	o = divvy(t, "sim", "replay", "--since", "1h", "--database", dsn, "--site", file)
	if o.code != fail.OK || !regexp.MustCompile(`differences\s+[1-9]`).MatchString(o.out) || !strings.Contains(o.out, "WOULD GO TO") {
		t.Errorf("%+v", o)
	}
	t.Log(o.out)
	for args, want := range map[string]string{
		"--since 1h --until 2h": "is not before --until",
		"--since soon":          "is neither a time such as",
		"--site none.yml":       "none.yml",
		"--list -1":             "is negative",
	} {
		o := divvy(t, append([]string{"sim", "replay", "--database", dsn}, strings.Fields(args)...)...)
		if o.code == fail.OK || !strings.Contains(o.err, want) {
			t.Errorf("%s: %+v", args, o)
		}
	}
}
