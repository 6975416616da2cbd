package serve

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/divvyhq/divvy/cmd/divvy/servetest"

	"go.uber.org/goleak"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/cmd/divvy/config"
	"github.com/divvyhq/divvy/internal/pgtest"
	"github.com/divvyhq/divvy/internal/pilot"
	"github.com/divvyhq/divvy/internal/pilot/payload"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// startDaemon starts a daemon on a fresh database and a free port, and stops it at the end of the test.
func startDaemon(t testing.TB, change func(*config.Config)) (*Daemon, *client.Client) {
	t.Helper()
	d := New(servetest.Config(t, change), servetest.Log(t))
	return d, servetest.Start(t, d, client.Config{Stay: true})
}

// The whole chain: a task over HTTP becomes jobs, pilots run them as processes, the task is done.
func TestDaemonRunsATask(t *testing.T) {
	_ = pgtest.DSN(t) // the test server is up, its goroutines are not ours
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	t.Run("chain", func(t *testing.T) {
		d, cl := startDaemon(t, nil)
		ctx, leave := context.WithCancel(t.Context())
		gone := make(chan error, 1)
		go func() {
			gone <- pilot.Run(ctx, pilot.Config{Client: cl, Queue: "LOCAL", Slots: 4, Payload: payload.Config{WorkDir: t.TempDir()}})
		}()
		task, err := cl.Tasks().Submit(t.Context(), servetest.Hello(20), "")
		if err != nil {
			t.Fatal(err)
		}
		if task.Share != "Analysis/User" {
			t.Errorf("tagged %s", task.Share)
		}
		servetest.Eventually(t, 30*time.Second, func() (bool, string) {
			if task, err = cl.Tasks().Get(t.Context(), task.ID); err != nil {
				return false, err.Error()
			}
			return task.EndedAt != nil, "not over: " + task.State
		})
		if task.State != "done" || task.Jobs.Finished != 20 {
			t.Errorf("state %s, %+v", task.State, task.Jobs)
		}
		for job, err := range cl.Jobs().All(t.Context(), client.JobFilter{Task: task.ID}) {
			if err != nil {
				t.Fatal(err)
			}
			log, err := cl.Jobs().Log(t.Context(), job.ID, 0)
			if err != nil || !strings.Contains(log.Tail, "piece") {
				t.Errorf("job %d: log %q, %v", job.ID, log.Tail, err)
			}
		}
		checkFaces(t, d)
		leave()
		if err := <-gone; err != nil {
			t.Error(err)
		}
	})
}

// checkFaces looks at what monitoring sees.
func checkFaces(t *testing.T, d *Daemon) {
	t.Helper()
	for path, want := range map[string]string{
		"/healthz": `"ok"`, "/readyz": `"ready"`, "/metrics": "divvy_step_runs_total", "/openapi.json": `"3.1.0"`,
	} {
		resp, err := http.Get(d.URL() + path)
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK || !bytes.Contains(b, []byte(want)) {
			t.Errorf("%s: %s, without %s", path, resp.Status, want)
		}
	}
	http.DefaultClient.CloseIdleConnections()
}

// A pull that waits when the daemon stops is told so at once, and the stop does not wait for its end.
func TestStopAnswersPullsThatWait(t *testing.T) {
	t.Parallel()
	d, cl := startDaemon(t, nil)
	answered := make(chan error, 1)
	go func() {
		impatient, err := client.New(client.Config{URL: d.URL(), Patience: -1})
		if err == nil {
			_, err = impatient.Pull(t.Context(), wire.PullRequest{Queue: "LOCAL", Pilot: "p1", RequestID: "1", WaitS: 60})
			impatient.Close()
		}
		answered <- err
	}()
	servetest.Eventually(t, 10*time.Second, func() (bool, string) {
		s, err := cl.Daemon().Status(t.Context())
		return err == nil && s.Waiting == 1, "the pull does not wait"
	})
	began := time.Now()
	if err := d.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > 8*time.Second {
		t.Errorf("the stop took %s", took)
	}
	if err := <-answered; !client.IsCode(err, "stopping") {
		t.Errorf("the pull that waited got %v", err)
	}
}

func TestStartFailsLoudly(t *testing.T) {
	t.Parallel()
	taken, _ := startDaemon(t, nil)
	bad := servetest.File(t, "name: hello\n")
	for name, c := range map[string]struct {
		change func(*config.Config)
		want   string
	}{
		"database does not answer": {func(c *config.Config) { c.Database.DSN = "postgres://nobody@127.0.0.1:1/none" }, "database does not answer"},
		"port is taken":            {func(c *config.Config) { c.Listen = taken.Addr() }, "address already in use"},
		"no such site file":        {func(c *config.Config) { c.Site = "/nowhere/none.yml" }, "none.yml"},
		"bad site file":            {func(c *config.Config) { c.Site = bad }, ":1:1"},
		"no such token file":       {func(c *config.Config) { c.Access.TokenFile = "/nowhere/none" }, "token_file: open /nowhere/none"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := servetest.Config(t, nil)
			c.change(&cfg)
			d := New(cfg, slog.New(slog.DiscardHandler))
			err := d.Start(t.Context())
			if err == nil {
				err = errors.Join(errors.New("it started"), d.Stop(t.Context()))
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want in it: %s", err, c.want)
			}
		})
	}
}

// --site counts only when nothing was ever applied.
func TestSiteFileIsForTheFirstStartOnly(t *testing.T) {
	t.Parallel()
	dsn := pgtest.DSN(t)
	other := filepath.Join(t.TempDir(), "other.yml")
	if err := os.WriteFile(other, []byte("shares: [{name: Other}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"../servetest/site.yml", other} {
		d, cl := startDaemon(t, func(c *config.Config) { c.Database.DSN, c.Site = dsn, file })
		v, err := cl.Site().Current(t.Context())
		if err != nil || v.Version != 1 || strings.Contains(v.Source, "Other") {
			t.Errorf("after %s: version %d, %v", file, v.Version, err)
		}
		if err := d.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	}
}
