package web

import (
	"cmp"
	"context"
	"encoding/csv"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/divvyhq/divvy/internal/report"
	"github.com/divvyhq/divvy/shares"
)

// reports answers the reports that have a name.
type reports struct {
	reader Reports
	tables brief[report.Table] // by what is asked for, however many ask
}

const tablesLast = 10 * time.Second

// ReportsPage lists the reports.
type ReportsPage struct {
	AsOf
	Reports []report.Report `json:"items"`
}

// ReportPage is the answer of one.
type ReportPage struct {
	report.Table
	SQL   string `json:"sql"` // with @since, and @by where it is broken down
	Asked asked  `json:"-"`
}

// When is when it was read.
func (s ReportPage) When() time.Time { return s.Table.At }

// Heading is what the report answers.
func (s ReportPage) Heading() string { return s.Title }

// backs are how far back a report may look.
var backs = []string{"1h", "6h", "24h", "7d", "30d"}

func (s *reports) list(context.Context, *Request) (Dated, error) {
	return ReportsPage{Now(), report.List()}, nil
}

func (s *reports) page(ctx context.Context, r *Request) (Dated, error) {
	a := askedOf(r)
	a.oneOf("since", backs...)
	is := slices.IndexFunc(report.List(), func(is report.Report) bool { return is.Name == r.Param("report") })
	if is < 0 {
		return nil, cmp.Or(a.err(), fmt.Errorf("%w: %q", report.ErrUnknown, r.Param("report")))
	}
	about := report.List()[is]
	a.oneOf("by", strings.FieldsFunc(about.By, func(c rune) bool { return c == ',' })...)
	if err := a.err(); err != nil {
		return nil, err
	}
	since := a.Get("since")
	if since == "" {
		since = "24h"
	}
	back, err := shares.ParseDuration(since)
	if err != nil {
		return nil, err
	}
	key, err := strconv.ParseUint(short(about.Name+" "+a.Get("by")+" "+since), 36, 64)
	if err != nil {
		return nil, err
	}
	t, err := s.tables.get(int64(key), func() (report.Table, error) {
		return s.reader.Run(ctx, about.Name, a.Get("by"), time.Now().Add(-time.Duration(back)))
	})
	return ReportPage{t, report.SQL(about.Name, a.Get("by")), a}, err
}

// Cell is one of a table, with the page that it leads to.
type Cell struct {
	Text    string
	Link    string // empty: to none
	Numeric bool
	Bar     string // of the largest of its column, in percent; empty: it has none
}

// Lines are the rows as the page shows them.
func (s ReportPage) Lines() (all [][]Cell) {
	bars, most := s.figure()
	for _, row := range s.Rows {
		cells := make([]Cell, len(row))
		for i, text := range row {
			name := s.Columns[i].Name
			cells[i] = Cell{Text: "–", Numeric: s.Columns[i].Numeric}
			if text == nil {
				continue
			}
			cells[i].Text, cells[i].Link = *text, leadsTo(name, *text)
			if n, err := strconv.ParseFloat(*text, 64); i == bars && err == nil && n > 0 {
				cells[i].Bar = strconv.FormatFloat(100*n/most, 'f', 1, 64)
			}
		}
		all = append(all, cells)
	}
	return all
}

// figure is the first column of amounts, and its largest; -1: there is none.
func (s ReportPage) figure() (column int, most float64) {
	for i, c := range s.Columns {
		if !c.Numeric || slices.Contains([]string{"exit_code", "for_example", "task_id", "job_id", "version", "id", "pool", "hour"}, c.Name) {
			continue
		}
		for _, row := range s.Rows {
			if row[i] != nil {
				if n, err := strconv.ParseFloat(*row[i], 64); err == nil {
					most = max(most, n)
				}
			}
		}
		if most > 0 {
			return i, most
		}
	}
	return -1, 0
}

// leadsTo is the page of what a cell names.
func leadsTo(column, text string) string {
	switch column {
	case "share":
		return shareLink(text)
	case "queue":
		return "/queues/" + url.PathEscape(text)
	case "user", "user_name":
		return "/tasks?" + url.Values{"user": {text}, "over": {"too"}}.Encode()
	case "task", "task_id":
		return "/tasks/" + url.PathEscape(text)
	case "for_example", "job_id":
		return "/jobs/" + url.PathEscape(text)
	}
	return ""
}

// writeCSV answers a report as a table for other programs.
func (s ReportPage) writeCSV(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	w.Header().Set("Content-Disposition", `attachment; filename="`+s.Name+`.csv"`)
	w.Header().Set("Cache-Control", "no-store")
	out := csv.NewWriter(w)
	line := make([]string, len(s.Columns))
	for i, c := range s.Columns {
		line[i] = c.Name
	}
	_ = out.Write(line)
	for _, row := range s.Rows {
		for i, text := range row {
			line[i] = ""
			if text != nil {
				line[i] = *text
			}
		}
		_ = out.Write(line)
	}
	out.Flush()
}
