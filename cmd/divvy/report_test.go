package main

import (
	"strings"
	"testing"

	"github.com/divvyhq/divvy/cmd/divvy/fail"
	"github.com/divvyhq/divvy/internal/pgtest"
)

func TestReportCommand(t *testing.T) {
	server := fakeServer(t, map[string]string{"GET /v1/reports/usage": "report.json", "GET /v1/reports": "reports.json"})
	for name, c := range map[string]struct {
		args []string
		code int
		want []string // parts of what is printed
	}{
		"table":       {[]string{"report", "usage", "--since", "7d"}, fail.OK, []string{"What each share used, from 2026-11-15 10:00 to 2026-11-22 10:00 UTC", "SHARE", "UNIT HOURS", "A, \"quoted\"", "1.50", "-"}},
		"csv":         {[]string{"report", "usage", "-o", "csv"}, fail.OK, []string{"share,unit_hours,jobs\n\"A, \"\"quoted\"\"\",1.50,3\nB,,0\n"}},
		"json":        {[]string{"report", "usage", "-o", "json"}, fail.OK, []string{`"unit_hours"`, `"1.50"`, "null"}},
		"list":        {[]string{"report"}, fail.OK, []string{"usage", "What each share used"}},
		"list as csv": {[]string{"report", "-o", "csv"}, fail.OK, []string{"report,title\nusage,What each share used\n"}},
		"two names":   {[]string{"report", "usage", "waits"}, fail.Usage, []string{`"waits" is too much`, "divvy report usage --since 7d"}},
		"other csv":   {[]string{"queue", "list", "-o", "csv"}, fail.Usage, []string{"only reports have the output format csv"}},
		"no format":   {[]string{"report", "usage", "-o", "xml"}, fail.Usage, []string{`unknown output format "xml"; use table, wide, json, yaml or csv`}},
		"other xml":   {[]string{"queue", "list", "-o", "xml"}, fail.Usage, []string{`unknown output format "xml"; use table, wide, json or yaml` + "\n"}},
		"two levels":  {[]string{"log", "level", "warn", "info"}, fail.Usage, []string{`log level takes 1 argument: "info" is too much`, "Example: divvy log level"}},
		"unknown":     {[]string{"report", "use"}, fail.Failed, []string{"Nothing lives"}},
	} {
		t.Run(name, func(t *testing.T) {
			o := divvy(t, append(c.args, "--server", server)...)
			if o.code != c.code {
				t.Fatalf("exit code %d: %s", o.code, o.err)
			}
			for _, part := range c.want {
				if !strings.Contains(o.out+o.err, part) {
					t.Errorf("%q is not in:\n%s%s", part, o.out, o.err)
				}
			}
		})
	}
}

// A report is read from a server without a daemon; what it needs is named when it is missing.
func TestReportFromDatabase(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Open(t).Config().ConnString()
	o := divvy(t, "report", "versions", "--since", "7d", "--database", dsn, "-o", "json")
	if o.code != fail.OK || !strings.Contains(o.out, `"until"`) || !strings.Contains(o.out, `"versions"`) {
		t.Errorf("%+v", o)
	}
	for name, c := range map[string]struct {
		args []string
		code int
		want string
	}{
		"no name": {[]string{"report", "--database", dsn}, fail.Usage, "name it"},
		"since":   {[]string{"report", "usage", "--since", "long", "--database", dsn}, fail.Usage, `--since "long": expected a duration`},
		"unknown": {[]string{"report", "usagee", "--database", dsn}, fail.Failed, "Did you mean 'divvy report usage'?"},
	} {
		if o := divvy(t, c.args...); o.code != c.code || !strings.Contains(o.err, c.want) {
			t.Errorf("%s: %+v, want %q", name, o, c.want)
		}
	}
}
