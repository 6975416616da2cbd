package main

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/divvyhq/divvy/cmd/divvy/servetest"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/cmd/divvy/config"
	"github.com/divvyhq/divvy/cmd/divvy/fail"
	"github.com/divvyhq/divvy/internal/pilot"
)

// loggingDaemon is one whose lines the test reads.
func loggingDaemon(t *testing.T, change func(*config.Config), with ...func(*daemon)) (*daemon, *client.Client, func() string) {
	t.Helper()
	cfg := servetest.Config(t, nil)
	change(&cfg)
	var mu sync.Mutex
	var out bytes.Buffer
	lines := config.NewLog(lockedWriter{&mu, &out}, cfg)
	d := newDaemon(cfg, lines.Logger())
	d.lines = lines
	for _, w := range with {
		w(d)
	}
	cl := servetest.Start(t, d, client.Config{Token: "api-token-S3CRET-01"})
	return d, cl, func() string {
		mu.Lock()
		defer mu.Unlock()
		return out.String()
	}
}

// divvy log level changes what a running daemon writes, and only of the part that it names.
func TestLogLevelOfARunningDaemon(t *testing.T) {
	d, cl, said := loggingDaemon(t, func(c *config.Config) { c.LogFormat = "json" })
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
	if _, err := cl.Status(t.Context()); err != nil {
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
		if _, err := cl.Status(t.Context()); err != nil {
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

// What a task is given and what lets somebody in is in no line, at the loudest level, whether all goes well or not.
func TestLogHasNoSecrets(t *testing.T) {
	d, cl, said := loggingDaemon(t, func(c *config.Config) {
		c.LogLevel, c.TokenFile = "debug", fileWith(t, "api-token-S3CRET-01")
		c.Database = withPassword(c.Database)
	})
	ctx, leave := context.WithCancel(t.Context())
	gone := make(chan error, 1)
	go func() {
		gone <- pilot.Run(ctx, pilot.Config{Client: cl, Queue: "LOCAL", Slots: 2, WorkDir: t.TempDir()})
	}()
	spec := servetest.Hello(3)
	spec.Command = []string{"sh", "-c", "echo out-S3CRET; exit {{.Index}} # cmd-S3CRET"}
	spec.Env = map[string]string{"PASSWORD": "env-S3CRET"}
	task, err := cl.Submit(t.Context(), spec, "key-S3CRET-1")
	if err != nil {
		t.Fatal(err)
	}
	servetest.Eventually(t, 2*time.Minute, func() (bool, string) {
		now, err := cl.Task(t.Context(), task.ID)
		return err == nil && now.Jobs.Finished > 0, "no job has ended: " + now.State
	})
	other, err := client.New(client.Config{URL: d.URL(), Token: "wrong-token-S3CRET", Patience: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := other.Status(t.Context()); !client.IsCode(err, "unauthorized") {
		t.Errorf("%v", err)
	}
	bad := spec
	bad.Share = "password=S3CRETshare"
	if _, err := cl.Submit(t.Context(), bad, ""); err == nil {
		t.Error("a share that there is not was taken")
	}
	leave()
	if err := <-gone; err != nil {
		t.Error(err)
	}
	text := said()
	if !strings.Contains(text, "msg=request") || !strings.Contains(text, "path=/v1/pulls") {
		t.Errorf("requests are not logged:\n%s", text)
	}
	for line := range strings.Lines(text) {
		if strings.Contains(line, "S3CRET") || strings.Contains(line, d.company.member.Self().Secret) {
			t.Errorf("a secret is in the log: %s", line)
		}
	}
}

// withPassword gives a DSN a password, which the server of the tests does not ask for.
func withPassword(dsn string) string {
	return dsn + "&password=dsn-S3CRET"
}
