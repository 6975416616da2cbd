package work

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/divvyhq/divvy/api/wire"
)

// seen is what two looks at a site would see.
func seen(t *testing.T) (first, second look) {
	t.Helper()
	read := func(file string, into any) {
		b, err := os.ReadFile("../testdata/api/" + file)
		if err == nil {
			err = json.Unmarshal(b, into)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	at := time.Date(2026, 11, 21, 9, 0, 0, 0, time.Local)
	first = look{at: at, status: wire.Status{Ready: true, Site: 3, StartedAt: at.Add(-time.Hour), HeldJobs: 998, ReadyJobs: 4002, Waiting: 3}}
	first.status.Queues.Online = 1
	read("shares.json", &first.standing)
	var page wire.Page[wire.QueueStanding]
	read("queues.json", &page)
	first.queues = page.Items
	first.figures = map[string]float64{"divvy_grant_batch_jobs_sum": 100, "divvy_attempts_ended_total": 90, "divvy_jobs_generated_total": 500}
	second = first
	second.at = at.Add(2 * time.Second)
	second.figures = map[string]float64{"divvy_grant_batch_jobs_sum": 125, "divvy_attempts_ended_total": 110, "divvy_jobs_generated_total": 20}
	return first, second
}

// The picture is as large as its terminal, to the cell, and says the figures.
func TestTopPicture(t *testing.T) {
	first, second := seen(t)
	v := &topView{URL: "http://127.0.0.1:8470", colour: true}
	v.take(first)
	v.take(second)
	for _, size := range [][2]int{{80, 24}, {120, 50}, {40, 10}, {200, 12}} {
		lines := v.draw(size[0], size[1])
		if len(lines) != size[1] {
			t.Errorf("%v: %d lines", size, len(lines))
		}
		for _, line := range lines {
			if n := text.StringWidthWithoutEscSequences(line); n > size[0] {
				t.Errorf("%v: %d cells: %q", size, n, line)
			}
		}
	}
	all := strings.Join(v.draw(80, 24), "\n")
	for _, want := range []string{"09:00:02", "site 3", "998 leased, 4002 ready; 3 pulls wait", "12.5 started, 10.0 ended, 0.0 lost, 0.0 made", "├─ Production", "│  ├─ MC",
		"POOL default", "CERN", "LOCAL", "drain", "q quit", "█"} {
		if !strings.Contains(all, want) {
			t.Errorf("no %q in\n%s", want, all)
		}
	}
}

// Keys choose, scroll, sort, hold and end.
func TestTopKeys(t *testing.T) {
	first, second := seen(t)
	v := &topView{}
	v.take(first)
	shows := func(want ...string) {
		t.Helper()
		all := strings.Join(v.draw(80, 12), "\n")
		for _, w := range want {
			if no, absent := strings.CutPrefix(w, "!"); absent == strings.Contains(all, no) {
				t.Errorf("%q in\n%s", w, all)
			}
		}
	}
	shows("POOL", "QUEUE", "more")
	v.press("\t")
	shows("POOL", "!QUEUE", "├─ Production", "… 4 more")
	v.press("\x1b[B")
	v.press("j")
	shows("!├─ Production", "│  ├─ MC")
	v.press("\x1b[6~")
	shows("Test", "!more")
	v.press("g")
	v.press("d")
	shows("Analysis/User", "!├─")
	v.press("\t")
	shows("!POOL", "CERN")
	v.press(" ")
	v.take(second)
	shows("HELD", "09:00:00")
	v.press(" ")
	v.take(second)
	shows("!HELD", "09:00:02")
	v.take(look{err: errors.New("gone")})
	shows("AWAY, last seen 09:00:02")
	for _, key := range []string{"q", "\x03"} {
		if !v.press(key) {
			t.Errorf("%q does not end it", key)
		}
	}
}

// The loop draws what it sees until a key ends it; nothing at all there is an error.
func TestTopLoop(t *testing.T) {
	first, second := seen(t)
	var out bytes.Buffer
	looks, keys := make(chan look), make(chan string)
	done := make(chan error, 1)
	s := screen{out: &out, size: func() (int, int) { return 80, 24 }}
	go func() { done <- runTop(t.Context(), &topView{}, s, looks, keys) }()
	looks <- first
	looks <- second
	keys <- "\t"
	keys <- "q"
	if err := <-done; err != nil {
		t.Error(err)
	}
	if !strings.Contains(out.String(), "\x1b[H") || !strings.Contains(out.String(), "POOL default") {
		t.Errorf("%q", out.String())
	}
	go func() { done <- runTop(t.Context(), &topView{}, s, looks, keys) }()
	looks <- look{err: errors.New("nobody there")}
	if err := <-done; err == nil {
		t.Error("no error, though nobody is there")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := runTop(ctx, &topView{}, s, nil, nil); err != nil {
		t.Error(err)
	}
}
