package serve

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/divvyhq/divvy/cmd/divvy/servetest"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/cmd/divvy/config"
	"github.com/divvyhq/divvy/internal/pilot"
	"github.com/divvyhq/divvy/internal/pilot/payload"
)

// loggingDaemon is one whose lines the test reads.
func loggingDaemon(t *testing.T, change func(*config.Config), with ...func(*Daemon)) (*Daemon, *client.Client, func() string) {
	t.Helper()
	var said servetest.Said
	d := NewLogging(servetest.Config(t, change), &said)
	for _, w := range with {
		w(d)
	}
	return d, servetest.Start(t, d, client.Config{Token: "api-token-S3CRET-01"}), said.String
}

// What a task is given and what lets somebody in is in no line, at the loudest level, whether all goes well or not.
func TestLogHasNoSecrets(t *testing.T) {
	t.Parallel()
	d, cl, said := loggingDaemon(t, func(c *config.Config) {
		c.Log.Level, c.Access.TokenFile = "debug", servetest.File(t, "api-token-S3CRET-01")
		c.Database.DSN = withPassword(c.Database.DSN)
	})
	ctx, leave := context.WithCancel(t.Context())
	gone := make(chan error, 1)
	go func() {
		gone <- pilot.Run(ctx, pilot.Config{Client: cl, Queue: "LOCAL", Slots: 2, Payload: payload.Config{WorkDir: t.TempDir()}})
	}()
	spec := servetest.Hello(3)
	spec.Command = []string{"sh", "-c", "echo out-S3CRET; exit {{.Index}} # cmd-S3CRET"}
	spec.Env = map[string]string{"PASSWORD": "env-S3CRET"}
	task, err := cl.Tasks().Submit(t.Context(), spec, "key-S3CRET-1")
	if err != nil {
		t.Fatal(err)
	}
	servetest.Eventually(t, 2*time.Minute, func() (bool, string) {
		now, err := cl.Tasks().Get(t.Context(), task.ID)
		return err == nil && now.Jobs.Finished > 0, "no job has ended: " + now.State
	})
	other, err := client.New(client.Config{URL: d.URL(), Token: "wrong-token-S3CRET", Patience: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := other.Daemon().Status(t.Context()); !client.IsCode(err, "unauthorized") {
		t.Errorf("%v", err)
	}
	bad := spec
	bad.Share = "password=S3CRETshare"
	if _, err := cl.Tasks().Submit(t.Context(), bad, ""); err == nil {
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
