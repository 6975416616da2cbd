package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/divvyhq/divvy/cmd/divvy/fail"
	"github.com/divvyhq/divvy/cmd/divvy/work"
)

// --once is for scripts: all of it, without control characters, or as JSON.
func TestTopOnce(t *testing.T) {
	t.Parallel()
	d, _ := launch(t, nil)
	o := divvy(t, "top", "--once", "--every", "200ms", "--server", d.URL())
	if o.code != fail.OK || strings.Contains(o.out, "\x1b") || !strings.Contains(o.out, "a second: 0.0 started") || !strings.Contains(o.out, "Production") || !strings.Contains(o.out, "LOCAL") {
		t.Errorf("%+v", o)
	}
	var got work.TopSummary
	o = divvy(t, "top", "--once", "--every", "200ms", "-o", "json", "--server", d.URL())
	if err := json.Unmarshal([]byte(o.out), &got); err != nil || got.Status.Site != 1 || len(got.Queues) == 0 || got.Rates == nil {
		t.Errorf("%v %+v", err, o)
	}
	if o := divvy(t, "top", "--every", "1ms", "--server", d.URL()); o.code != fail.Usage {
		t.Errorf("%+v", o)
	}
	if o := divvy(t, "top", "--once", "--server", "http://127.0.0.1:1"); o.code != fail.Failed || !strings.Contains(o.err, "divvy serve") {
		t.Errorf("%+v", o)
	}
}
