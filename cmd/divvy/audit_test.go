package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/divvyhq/divvy/cmd/divvy/offline"
	"github.com/divvyhq/divvy/cmd/divvy/servetest"

	"github.com/google/go-cmp/cmp"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/cmd/divvy/config"
	"github.com/divvyhq/divvy/cmd/divvy/fail"
	"github.com/divvyhq/divvy/internal/access"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/internal/pgtest"
)

// changes makes one of each kind, and says what the audit is to have, in order.
func changes(t *testing.T, cl *client.Client) (want []string) {
	t.Helper()
	ctx := t.Context()
	do := func(entry string, _ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", entry, err)
		}
		if entry != "" {
			want = append(want, entry)
		}
	}
	task, err := cl.Tasks().Submit(ctx, servetest.Hello(2), "")
	id := strconv.FormatInt(task.ID, 10)
	do("task.submit "+id+":  → "+task.Name+" of "+task.User, task, err)
	var jobs wire.Page[wire.JobRow]
	servetest.Eventually(t, 20*time.Second, func() (bool, string) {
		jobs, err = cl.Jobs().List(ctx, client.JobFilter{Task: task.ID})
		return err == nil && len(jobs.Items) == 2, fmt.Sprint(jobs, err)
	})
	job := strconv.FormatInt(jobs.Items[0].ID, 10)
	killed, err := cl.Jobs().Kill(ctx, jobs.Items[0].ID)
	do("job.kill "+job+": live → killed", killed, err)
	p, err := cl.Tasks().Prioritise(ctx, task.ID, 7)
	do("task.priority "+id+": "+strconv.Itoa(p.Before)+" → 7", p, err)
	p, err = cl.Tasks().Prioritise(ctx, task.ID, 7)
	do("", p, err) // changes nothing
	c, err := cl.Tasks().Pause(ctx, task.ID)
	do("task.pause "+id+": "+c.Before+" → paused", c, err)
	c, err = cl.Tasks().Resume(ctx, task.ID)
	do("task.resume "+id+": paused → "+c.After, c, err)
	r, err := cl.Tasks().Reassign(ctx, wire.ReassignRequest{Tasks: []int64{task.ID}, Share: "Analysis/Grp"})
	do("task.reassign "+id+": "+task.Share+" → Analysis/Grp", r, err)
	a, err := cl.Tasks().Act(ctx, wire.ActRequest{Verb: wire.VerbKill, Tasks: []int64{task.ID}})
	do("task.kill "+id+": "+c.After+" → "+a.Tasks[0].After, a, err)
	if _, err := cl.Tasks().Pause(ctx, task.ID); err == nil {
		t.Error("a killed task is paused")
	}
	q, err := cl.Queues().SetState(ctx, "LOCAL", wire.QueueDrain)
	do("queue.state LOCAL: online → drain", q, err)
	site, err := cl.Site().Current(ctx)
	do("", site, err)
	file := strings.Replace(site.Source, "name: Test, weight: 5", "name: Test, weight: 6", 1)
	dry, err := cl.Site().Apply(ctx, []byte(file), client.ApplyOptions{DryRun: true})
	do("", dry, err)
	v, err := cl.Site().Apply(ctx, []byte(file), client.ApplyOptions{})
	do("site.apply 2: version 1 → Test: weight 5 → 6", v, err)
	v, err = cl.Site().Rollback(ctx, 1, client.ApplyOptions{})
	do("site.rollback 3: version 2 → Test: weight 6 → 5", v, err)
	at := time.Now().Add(24 * time.Hour)
	l, err := cl.Site().ApplyLater(ctx, []byte(file), at, client.ApplyOptions{})
	do("site.later 1:  → waits for "+l.At.UTC().Format(time.RFC3339)+"\nTest: weight 5 → 6", l, err)
	l, err = cl.Site().CancelLater(ctx, l.ID, "")
	do("site.later-cancel 1: waiting → cancelled", l, err)
	m, err := cl.Tokens().Create(ctx, wire.NewToken{Name: "eve", Role: "reader"})
	do("token.create eve:  → "+m.Prefix+", reader", m, err)
	k, err := cl.Tokens().Revoke(ctx, "eve")
	do("token.revoke eve: "+m.Prefix+", reader → revoked", k, err)
	return want
}

// The audit has each change that somebody made, once, with before and after, and nothing else.
func TestEveryChangeIsAudited(t *testing.T) {
	t.Parallel()
	d, _ := launch(t, func(c *config.Config) { c.Access.TokenFile = servetest.File(t, "0123456789abcdef0123\n") })
	cl, err := client.New(client.Config{URL: d.URL(), Token: "0123456789abcdef0123"})
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	want := changes(t, cl)
	page, err := cl.Tokens().Audit(t.Context(), client.AuditFilter{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, a := range slices.Backward(page.Items) {
		got = append(got, a.What+" "+a.Object+": "+a.Before+" → "+a.After)
		if a.Who != "token file" || a.Role != "admin" || time.Since(a.At) > 5*time.Minute {
			t.Errorf("%+v", a)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	file := servetest.File(t, "0123456789abcdef0123")
	o := divvy(t, "audit", "list", "--what", "site", "--limit", "2", "--server", d.URL(), "--token-file", file)
	if o.code != fail.OK || strings.Count(o.out, "site.later") != 2 || !strings.Contains(o.out, "; 1 more") {
		t.Errorf("%+v", o)
	}
	o = divvy(t, "report", "audit", "-o", "json", "--server", d.URL(), "--token-file", file)
	if o.code != fail.OK || !json.Valid([]byte(o.out)) || !strings.Contains(o.out, "task.reassign") {
		t.Errorf("%+v", o)
	}
	if o := divvy(t, "audit", "list", "--since", "soon"); o.code != fail.Usage || !strings.Contains(o.err, "--since") {
		t.Errorf("%+v", o)
	}
	docs, err := os.ReadFile("../../docs/access.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range page.Items { // each kind is explained
		kind, verb, _ := strings.Cut(a.What, ".")
		if !strings.Contains(string(docs), "`"+kind+".") || !strings.Contains(string(docs), verb+"`") {
			t.Errorf("docs/access.md has no %s", a.What)
		}
	}
}

// What is done to a database without a daemon is in the audit too, by whoever did it there.
func TestChangesWithoutADaemonAreAudited(t *testing.T) {
	t.Parallel()
	dsn := pgtest.DSN(t)
	for _, args := range [][]string{{"create", "root", "--role", "admin"}, {"revoke", "root"}} {
		if o := divvy(t, append([]string{"token", "--database", dsn}, args...)...); o.code != fail.OK {
			t.Fatalf("%+v", o)
		}
	}
	if got := auditOf(t, dsn, "token"); len(got) != 2 || !strings.HasSuffix(got[0], ", admin → revoked") || !strings.HasPrefix(got[1], "token.create root by "+offline.User()+", admin: ") {
		t.Errorf("%q", got)
	}
}

// auditOf are the changes of a kind in a database, the newest first.
func auditOf(t *testing.T, dsn, what string) (lines []string) {
	t.Helper()
	db, err := pg.Open(t.Context(), dsn, pg.MaxConns(1))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	all, err := access.NewStore(db).Audit(t.Context(), access.AuditFilter{What: what, Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		lines = append(lines, fmt.Sprintf("%s %s by %s, %s: %s → %s", a.What, a.Object, a.Who, a.Role, a.Before, a.After))
	}
	return lines
}
