package api

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/internal/report"
)

func TestReports(t *testing.T) {
	b := newBench(t)
	var page wire.Page[report.Report]
	if err := json.Unmarshal(b.call("GET", "/v1/reports", "").Body.Bytes(), &page); err != nil || len(page.Items) != len(report.List()) {
		t.Errorf("%d reports, %v", len(page.Items), err)
	}
	w := b.call("GET", "/v1/reports/usage?since=7d", "")
	var got report.Table
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != 200 || got.Name != "usage" || *got.Rows[0][0] != "1" || got.Rows[0][1] != nil {
		t.Errorf("%d %+v, %v", w.Code, got, err)
	}
	if ago := time.Since(got.Since) - 7*24*time.Hour; ago < -time.Second || ago > time.Minute {
		t.Errorf("since %v", got.Since)
	}
	if p := b.problem(b.call("GET", "/v1/reports/none", ""), 404); p.Code != "unknown_report" {
		t.Errorf("%+v", p)
	}
	if p := b.problem(b.call("GET", "/v1/reports/usage?since=yesterday", ""), 422); p.Code != "invalid" {
		t.Errorf("%+v", p)
	}
}
