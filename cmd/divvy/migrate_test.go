package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/divvyhq/divvy/cmd/divvy/servetest"

	"github.com/divvyhq/divvy/cmd/divvy/config"
	"github.com/divvyhq/divvy/cmd/divvy/fail"
	"github.com/divvyhq/divvy/internal/pgtest"
)

const oldDump = "../../internal/transfer/testdata/v0.10.sql.gz"

// A database of 0.10 is refused by whatever would change it, and its site goes on in a new one.
func TestMigrateFromAnOldDatabase(t *testing.T) {
	t.Parallel()
	from, to := pgtest.Dump(t, oldDump), pgtest.Empty(t)
	for _, args := range [][]string{{"serve", "--listen", "127.0.0.1:0"}, {"migrate", "up"}, {"migrate", "status"}, {"migrate", "down", "--yes"}} {
		o := divvy(t, append(args, "--database", from)...)
		if o.code != fail.Failed || !strings.Contains(o.err, "divvy 0.10 or before") || !strings.Contains(o.err, "divvy migrate export FILE") {
			t.Errorf("%v: %+v", args, o)
		}
	}
	file := filepath.Join(t.TempDir(), "site.jsonl")
	o := divvy(t, "migrate", "export", file, "--database", from)
	if o.code != fail.OK || !strings.Contains(o.out, "exported 4 versions of the site, 4 tokens") || o.err != "" {
		t.Fatalf("%+v", o)
	}
	if f, err := os.Stat(file); err != nil || f.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v: hashes of tokens are for nobody else", f.Mode(), err)
	}
	if o := divvy(t, "migrate", "export", file, "--database", from); o.code != fail.Failed || !strings.Contains(o.err, "exists") {
		t.Errorf("over another file: %+v", o)
	}
	if o := divvy(t, "migrate", "export", "-", "--database", from); !strings.HasPrefix(o.out, `{"kind":"divvy export"`) || !strings.HasPrefix(o.err, "exported") {
		t.Errorf("to standard output: %.100q, %q", o.out, o.err)
	}
	if o := divvy(t, "migrate", "import", file, "--database", to); o.code != fail.OK || !strings.Contains(o.out, "imported 4 versions of the site, 4 tokens") {
		t.Fatalf("%+v", o)
	}
	if o := divvy(t, "migrate", "import", file, "--database", to); o.code != fail.Failed || !strings.Contains(o.err, "as this one has a site") {
		t.Errorf("a second time: %+v", o)
	}
	d, cl := launch(t, func(c *config.Config) { c.Database.DSN, c.Site = to, "" })
	ask := func(args ...string) string {
		t.Helper()
		o := divvy(t, append(args, "--server", d.URL())...)
		if o.code != fail.OK {
			t.Fatalf("%v: %+v", args, o)
		}
		return o.out
	}
	for line, args := range map[string][]string{
		"Analysis,0,0,12,0,0":     {"report", "usage", "--since", "36500d", "-o", "csv"},
		"Production/MC,0,0,24,0,": {"report", "usage", "--since", "36500d", "-o", "csv"},
		"bob":                     {"report", "users", "--since", "36500d", "-o", "csv"},
		"more of it":              {"shares", "history"},
		"higgs":                   {"token", "list"},
		"later":                   {"apply", "--list-later"},
	} {
		if out := ask(args...); !strings.Contains(out, line) {
			t.Errorf("%v has no %q:\n%s", args, line, out)
		}
	}
	if out := ask("shares", "rollback", "1"); !strings.Contains(out, "version 5 is in force") {
		t.Errorf("rollback: %s", out)
	}
	spec := servetest.Hello(1)
	spec.Share = "Production/MC"
	if task, err := cl.Tasks().Submit(t.Context(), spec, ""); err != nil || task.ID <= 6 {
		t.Errorf("task %d, %v: ids go on behind those of before", task.ID, err)
	}
}

func TestMigrateImportNamesTheLine(t *testing.T) {
	dir, dsn := t.TempDir(), pgtest.Empty(t)
	file := filepath.Join(dir, "bad.jsonl")
	if err := os.WriteFile(file, []byte(`{"kind":"divvy export","format":1}`+"\n{\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if o := divvy(t, "migrate", "import", file, "--database", dsn); o.code != fail.Failed || !strings.Contains(o.err, file+":2: ") {
		t.Errorf("%+v", o)
	}
	if o := divvy(t, "migrate", "export", filepath.Join(dir, "none"), "--database", pgtest.Empty(t)); o.code != fail.Failed || !strings.Contains(o.err, "is empty") {
		t.Errorf("%+v", o)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("half a file was left: %v, %v", left, err)
	}
}
