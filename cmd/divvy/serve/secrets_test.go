package serve

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/divvyhq/divvy/cmd/divvy/servetest"

	"github.com/jackc/pgx/v5"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/cmd/divvy/config"
	"github.com/divvyhq/divvy/internal/pilot"
	"github.com/divvyhq/divvy/internal/pilot/payload"
)

// mark is in every secret of the test, with letters behind it that say which one it is.
const mark = "S3CRET"

// secretive is a task with a secret in each place that may hold one. Its jobs fail.
func secretive() wire.TaskSpec {
	s := servetest.Hello(0)
	s.Name, s.MaxAttempts = "secretive", 2
	s.Inputs = wire.Named("https://ann:"+mark+"input@store.example/f?token="+mark+"query", "root://store.example//f?authz="+mark+"authz")
	s.Command = []string{"sh", "-c", "echo " + mark + "out; echo " + mark + "err >&2; exit 3", mark + "argument"}
	s.Env = map[string]string{"API_KEY": mark + "env", "DSN": "postgres://u:" + mark + "dsn@db/x", "INPUT": "{{.Input}} " + mark + "template"}
	return s
}

// What a job was given stays between its user and its pilot: no log at the loudest level, no trace, metric, refusal, explanation,
// report, decision or audit says it, whether the job fails, is killed, or was refused.
func TestSecretsOfJobsStayInside(t *testing.T) {
	t.Parallel()
	spans := tracetest.NewInMemoryExporter()
	d, cl, said := loggingDaemon(t, func(c *config.Config) { c.Log.Level, c.Log.PerSecond = "debug", 0 },
		func(d *Daemon) { d.watch.tracing = newTracing(sdk.NewSimpleSpanProcessor(spans), 1) })
	task, err := cl.Tasks().Submit(t.Context(), secretive(), "")
	if err != nil {
		t.Fatal(err)
	}
	var kept []string // what was answered, and what tables have
	note := func(what, text string) { kept = append(kept, what+": "+text) }
	ask := func(method, path, kind, body string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, d.URL()+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", kind)
		r.Header.Set("Cookie", "divvy_session="+mark+"cookie")
		r.Header.Set("Authorization", "Bearer "+mark+"bearer-0123456789")
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		bare, _, _ := strings.Cut(path, "?")
		note(fmt.Sprint(method, " ", bare, " ", resp.StatusCode), string(text))
	}
	var job int64
	servetest.Eventually(t, time.Minute, func() (bool, string) {
		jobs, err := cl.Jobs().List(t.Context(), client.JobFilter{Task: task.ID})
		if err == nil && len(jobs.Items) > 0 {
			job = jobs.Items[0].ID
		}
		return job > 0, fmt.Sprint("no job: ", err)
	})
	ask("GET", fmt.Sprintf("/v1/jobs/%d/explain", job), "", "")
	ctx, leave := context.WithCancel(t.Context())
	gone := make(chan error, 1)
	go func() {
		gone <- pilot.Run(ctx, pilot.Config{Client: cl, Queue: "LOCAL", Slots: 2, Payload: payload.Config{WorkDir: t.TempDir()}, Log: d.log})
	}()
	servetest.Eventually(t, 2*time.Minute, func() (bool, string) {
		now, err := cl.Tasks().Get(t.Context(), task.ID)
		return err == nil && now.Jobs.Failed == now.Jobs.Total && now.Jobs.Total == 2, fmt.Sprintf("%+v %v", now.Jobs, err)
	})
	leave()
	if err := <-gone; err != nil {
		t.Error(err)
	}
	doomed, err := cl.Tasks().Submit(t.Context(), secretive(), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{fmt.Sprintf("/v1/jobs/%d/explain", job), "/v1/reports/failures", "/v1/reports/usage", "/metrics", "/v1/audit", "/v1/shares", "/v1/queues", "/decisions", "/v1/tasks?token=" + mark + "url",
		"/v1/status?access_token=" + mark + "url", "/v1/jobs?password=" + mark + "url"} {
		ask("GET", path, "", "")
	}
	ask("POST", fmt.Sprintf("/v1/tasks/%d/kill", doomed.ID), "application/json", "{}")
	const head = `{"name":"x","user":"u","label":"user","count":1,`
	for _, body := range []string{
		head + `"command":["a"],"env":{"A=` + mark + `":"` + mark + `env"}}`, head + `"command":["a"],"env":{"A":"{{.Nope}}` + mark + `env"}}`,
		head + `"command":["{{` + mark + `"],"env":{"A":"` + mark + `env"}}`, head + `"command":["a"],"env":{"A":5,"B":"` + mark + `env"}}`,
		head + `"command":["a"],"env":"` + mark + `env"}`, head + `"command":["a"],"env":{"A":"` + mark + `env"}`, head + `"share":"no/such","command":["a"],"env":{"A":"` + mark + `env"}}`,
		head + `"command":["a"],"env":{"A":"` + mark + strings.Repeat("x", 200_000) + `"}}`,
		head + `"command":["a"],"env":{"A":"\u0000` + mark + `env"}}`,
	} {
		ask("POST", "/v1/tasks", "application/json", body)
	}
	for _, call := range []string{"getJob", "updateJob", "submitJobs", "insertTaskParams", "nope"} {
		ask("POST", "/server/panda/"+call, "application/x-www-form-urlencoded", "siteName=NOWHERE&jobId=x&token="+mark+"form&password="+mark+"form&proxy="+mark+"form&metaData="+mark+"form")
	}
	for _, call := range []string{"pilot/acquire_jobs", "pilot/update_job", "task/submit"} {
		ask("POST", "/api/v1/"+call, "application/json", `{"site_name":"LOCAL","job_id":"x","token":"`+mark+`json","proxy":"`+mark+`json"`)
	}
	noteViews(t, d, note)
	for _, s := range spans.GetSpans() {
		note("span", fmt.Sprint(s.Name, s.Attributes, s.Events, s.Status, s.Links))
	}
	for line := range strings.Lines(said()) {
		note("log", line)
	}
	if len(kept) < 100 {
		t.Fatalf("only %d texts were looked at", len(kept))
	}
	for _, text := range kept {
		if at := strings.Index(text, mark); at >= 0 {
			t.Errorf("…%s… in %s", text[max(0, at-40):min(len(text), at+40)], text[:min(len(text), 300)])
		}
	}
}

// noteViews reads all rows of all views of reports, and the tables that people read.
func noteViews(t *testing.T, d *Daemon, note func(what, text string)) {
	t.Helper()
	rows, err := d.pool.Query(t.Context(), "SELECT 'report.' || quote_ident(viewname) FROM pg_views WHERE schemaname = 'report' UNION ALL VALUES ('public.audit'), ('public.batches'), ('public.outbox')")
	if err != nil {
		t.Fatal(err)
	}
	views, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(views) < 20 {
		t.Fatalf("%d views, %v", len(views), err)
	}
	for _, v := range views {
		rows, err := d.pool.Query(t.Context(), "SELECT v::text FROM "+v+" v LIMIT 10000")
		if err != nil {
			t.Fatal(err)
		}
		all, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range all {
			note(v, row)
		}
	}
}
