package main

import (
	"strings"
	"testing"
)

func TestReportCommand(t *testing.T) {
	server := fakeServer(t, map[string]string{"GET /v1/reports/usage": "report.json", "GET /v1/reports": "reports.json"})
	for name, c := range map[string]struct {
		args []string
		code int
		want []string // parts of what is printed
	}{
		"table":       {[]string{"report", "usage", "--since", "7d"}, exitOK, []string{"What each share used, from 2026-11-15 10:00 to 2026-11-22 10:00 UTC", "SHARE", "UNIT HOURS", "A, \"quoted\"", "1.50", "-"}},
		"csv":         {[]string{"report", "usage", "-o", "csv"}, exitOK, []string{"share,unit_hours,jobs\n\"A, \"\"quoted\"\"\",1.50,3\nB,,0\n"}},
		"json":        {[]string{"report", "usage", "-o", "json"}, exitOK, []string{`"unit_hours"`, `"1.50"`, "null"}},
		"list":        {[]string{"report"}, exitOK, []string{"usage", "What each share used"}},
		"list as csv": {[]string{"report", "-o", "csv"}, exitOK, []string{"report,title\nusage,What each share used\n"}},
		"two names":   {[]string{"report", "usage", "waits"}, exitUsage, []string{`"waits" is too much`, "divvy report usage --since 7d"}},
		"other csv":   {[]string{"queue", "list", "-o", "csv"}, exitUsage, []string{"only reports have the output format csv"}},
		"no format":   {[]string{"report", "usage", "-o", "xml"}, exitUsage, []string{`unknown output format "xml"; use table, wide, json, yaml or csv`}},
		"other xml":   {[]string{"queue", "list", "-o", "xml"}, exitUsage, []string{`unknown output format "xml"; use table, wide, json or yaml` + "\n"}},
		"two levels":  {[]string{"log", "level", "warn", "info"}, exitUsage, []string{`log level takes 1 argument: "info" is too much`, "Example: divvy log level"}},
		"unknown":     {[]string{"report", "use"}, exitFailed, []string{"Nothing lives"}},
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
