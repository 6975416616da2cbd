package main

import (
	"strings"
	"testing"
	"time"

	"github.com/divvyhq/divvy/cmd/divvy/serve"
	"github.com/divvyhq/divvy/cmd/divvy/servetest"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/cmd/divvy/config"
	"github.com/divvyhq/divvy/cmd/divvy/fail"
)

// divvy log level changes what a running daemon writes, and only of the part that it names.
func TestLogLevelOfARunningDaemon(t *testing.T) {
	t.Parallel()
	var lines servetest.Said
	d := serve.NewLogging(servetest.Config(t, func(c *config.Config) { c.Log.Format = "json" }), &lines)
	cl, said := servetest.Start(t, d, client.Config{}), lines.String
	run := func(args ...string) string {
		t.Helper()
		o := divvy(t, append([]string{"log", "level", "--server", d.URL()}, args...)...)
		if o.code != fail.OK {
			t.Fatalf("%v: %+v", args, o)
		}
		return strings.TrimSpace(o.out)
	}
	requests := func() int { return strings.Count(said(), `"msg":"request"`) }
	if got := run(); got != "info" || requests() != 0 {
		t.Errorf("at first %q, %d requests are logged", got, requests())
	}
	if got := run("info", "--part", "api=debug", "--for", "1h"); !strings.HasPrefix(got, "info, api=debug, until ") {
		t.Errorf("%q", got)
	}
	if _, err := cl.Daemon().Status(t.Context()); err != nil {
		t.Fatal(err)
	}
	servetest.Eventually(t, 10*time.Second, func() (bool, string) {
		return requests() > 0 && strings.Contains(said(), `"part":"api"`) && strings.Contains(said(), `"request_id"`), "no request is logged"
	})
	if got := run("error"); got != "error" {
		t.Errorf("%q", got)
	}
	n := requests()
	for range 3 {
		if _, err := cl.Daemon().Status(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if requests() > n+1 { // that of the change itself may be written after it
		t.Errorf("%d requests more", requests()-n)
	}
	for _, bad := range [][]string{{"loud"}, {"--for", "1m"}, {"info", "--part", "api"}, {"info", "--part", "api=x"}, {"info", "--for", "-1s"}} {
		if o := divvy(t, append([]string{"log", "level", "--server", d.URL()}, bad...)...); o.code != fail.Usage {
			t.Errorf("%v: %+v", bad, o)
		}
	}
	if o := divvy(t, "log", "level", "info", "--part", "apy=debug", "--server", d.URL()); o.code != fail.Failed || !strings.Contains(o.err, "there are api, database") {
		t.Errorf("%+v", o)
	}
}
